<?xml version="1.0" encoding="UTF-8"?>
<!--
  GPX 1.0 and 1.1 to WGS84 positions and schema.org: way points are places with a position, routes and tracks are lines.
  The two versions differ in their namespace only, so elements are known by their local names.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"
  xmlns:schema="http://schema.org/">

<xsl:import href="common.xsl"/>

<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page"/>
    <xsl:apply-templates select="*[local-name() = 'gpx']"/>
  </rdf:RDF>
</xsl:template>

<xsl:template match="*[local-name() = 'gpx']">
  <!-- GPX 1.0 has the metadata beside the points, 1.1 in an element. -->
  <xsl:variable name="metadata" select="*[local-name() = 'metadata'] | self::*[not(*[local-name() = 'metadata'])]"/>
  <xsl:variable name="things" select="*[local-name() = 'wpt' or local-name() = 'rte' or local-name() = 'trk']"/>
  <foaf:Document rdf:about="{$page-url}">
    <xsl:apply-templates select="$metadata/*[not(local-name() = 'wpt' or local-name() = 'rte' or local-name() = 'trk')]" mode="document"/>
    <xsl:for-each select="$things">
      <foaf:topic><xsl:attribute name="rdf:resource"><xsl:call-template name="address"/></xsl:attribute></foaf:topic>
    </xsl:for-each>
    <xsl:call-template name="fetched"/>
  </foaf:Document>
  <xsl:apply-templates select="$things"/>
</xsl:template>

<!-- Things are named by their place in the document: #wpt-1, #rte-1, #trk-1. -->
<xsl:template name="address">
  <xsl:variable name="kind" select="local-name()"/>
  <xsl:value-of select="concat('#', $kind, '-', count(preceding-sibling::*[local-name() = $kind]) + 1)"/>
</xsl:template>

<xsl:template match="*" mode="document"/>
<xsl:template match="*[local-name() = 'name']" mode="document">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:title'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'desc']" mode="document">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:description'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'time']" mode="document">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:created'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'keywords']" mode="document">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dc:subject'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'author']" mode="document">
  <xsl:variable name="name" select="*[local-name() = 'name'] | self::*[not(*)]"/>
  <xsl:variable name="mail" select="*[local-name() = 'email'] | self::*[not(*)]/../*[local-name() = 'email']"/>
  <dcterms:creator>
    <foaf:Agent>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'foaf:name'"/>
        <xsl:with-param name="value" select="$name"/>
      </xsl:call-template>
      <xsl:choose>
        <xsl:when test="$mail/@id and $mail/@domain">
          <xsl:call-template name="resource">
            <xsl:with-param name="property" select="'foaf:mbox'"/>
            <xsl:with-param name="value" select="concat('mailto:', $mail/@id, '@', $mail/@domain)"/>
          </xsl:call-template>
        </xsl:when>
        <xsl:when test="contains($mail, '@')">
          <xsl:call-template name="resource">
            <xsl:with-param name="property" select="'foaf:mbox'"/>
            <xsl:with-param name="value" select="concat('mailto:', normalize-space($mail))"/>
          </xsl:call-template>
        </xsl:when>
      </xsl:choose>
      <xsl:call-template name="resource">
        <xsl:with-param name="property" select="'foaf:homepage'"/>
        <xsl:with-param name="value" select="*[local-name() = 'link']/@href"/>
      </xsl:call-template>
    </foaf:Agent>
  </dcterms:creator>
</xsl:template>
<xsl:template match="*[local-name() = 'copyright']" mode="document">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'dcterms:rights'"/>
    <xsl:with-param name="value" select="concat(@author, ' ', *[local-name() = 'year'])"/>
  </xsl:call-template>
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'dcterms:license'"/>
    <xsl:with-param name="value" select="*[local-name() = 'license']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'link' or local-name() = 'url']" mode="document">
  <xsl:call-template name="link"/>
</xsl:template>
<xsl:template match="*[local-name() = 'bounds'][@minlat][@minlon][@maxlat][@maxlon]" mode="document">
  <schema:spatialCoverage>
    <schema:Place>
      <schema:geo>
        <schema:GeoShape>
          <schema:box><xsl:value-of select="concat(@minlat, ',', @minlon, ' ', @maxlat, ',', @maxlon)"/></schema:box>
        </schema:GeoShape>
      </schema:geo>
    </schema:Place>
  </schema:spatialCoverage>
</xsl:template>

<xsl:template match="*[local-name() = 'wpt']">
  <schema:Place>
    <xsl:attribute name="rdf:about"><xsl:call-template name="address"/></xsl:attribute>
    <rdf:type rdf:resource="http://www.w3.org/2003/01/geo/wgs84_pos#Point"/>
    <xsl:call-template name="decimal">
      <xsl:with-param name="property" select="'geo:lat'"/>
      <xsl:with-param name="value" select="@lat"/>
    </xsl:call-template>
    <xsl:call-template name="decimal">
      <xsl:with-param name="property" select="'geo:long'"/>
      <xsl:with-param name="value" select="@lon"/>
    </xsl:call-template>
    <xsl:call-template name="decimal">
      <xsl:with-param name="property" select="'geo:alt'"/>
      <xsl:with-param name="value" select="*[local-name() = 'ele']"/>
    </xsl:call-template>
    <xsl:apply-templates select="*" mode="thing"/>
  </schema:Place>
</xsl:template>

<xsl:template match="*[local-name() = 'rte' or local-name() = 'trk']">
  <schema:Place>
    <xsl:attribute name="rdf:about"><xsl:call-template name="address"/></xsl:attribute>
    <xsl:apply-templates select="*" mode="thing"/>
    <xsl:for-each select="self::*[local-name() = 'rte'] | *[local-name() = 'trkseg']">
      <xsl:variable name="points" select="*[local-name() = 'rtept' or local-name() = 'trkpt']"/>
      <xsl:if test="$points">
        <schema:geo>
          <schema:GeoShape>
            <schema:line>
              <xsl:for-each select="$points">
                <xsl:if test="position() &gt; 1"><xsl:text> </xsl:text></xsl:if>
                <xsl:value-of select="concat(@lat, ',', @lon)"/>
              </xsl:for-each>
            </schema:line>
          </schema:GeoShape>
        </schema:geo>
      </xsl:if>
    </xsl:for-each>
    <!-- A track began with its first point and ended with its last. -->
    <xsl:call-template name="date">
      <xsl:with-param name="property" select="'schema:startDate'"/>
      <xsl:with-param name="value" select="(.//*[local-name() = 'trkpt']/*[local-name() = 'time'])[1]"/>
    </xsl:call-template>
    <xsl:call-template name="date">
      <xsl:with-param name="property" select="'schema:endDate'"/>
      <xsl:with-param name="value" select="(.//*[local-name() = 'trkpt']/*[local-name() = 'time'])[last()]"/>
    </xsl:call-template>
  </schema:Place>
</xsl:template>

<xsl:template match="*" mode="thing"/>
<xsl:template match="*[local-name() = 'name']" mode="thing">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'rdfs:label'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'desc']" mode="thing">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:description'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'cmt']" mode="thing">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'rdfs:comment'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'time']" mode="thing">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:date'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'type' or local-name() = 'sym']" mode="thing">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dc:subject'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'src']" mode="thing">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dc:source'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'link' or local-name() = 'url']" mode="thing">
  <xsl:call-template name="link"/>
</xsl:template>

<!-- GPX 1.1 has a link with a text in it, 1.0 an address and beside it its name. -->
<xsl:template name="link">
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="@href | self::*[local-name() = 'url']"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != ''">
    <rdfs:seeAlso>
      <rdf:Description rdf:about="{$iri}">
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'rdfs:label'"/>
          <xsl:with-param name="value" select="*[local-name() = 'text'] | self::*[local-name() = 'url']/../*[local-name() = 'urlname']"/>
        </xsl:call-template>
      </rdf:Description>
    </rdfs:seeAlso>
  </xsl:if>
</xsl:template>

</xsl:stylesheet>
