<?xml version="1.0" encoding="UTF-8"?>
<!--
  KML 2 to WGS84 positions and schema.org: placemarks are places, folders are collections that have them as parts.
  KML changed its namespace with every version, so elements are known by their local names.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"
  xmlns:schema="http://schema.org/"
  xmlns:atom="http://www.w3.org/2005/Atom"
  exclude-result-prefixes="atom">

<xsl:import href="common.xsl"/>

<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page"/>
    <foaf:Document rdf:about="{$page-url}">
      <!-- The outermost container is the document itself. -->
      <xsl:apply-templates select="*/*[local-name() = 'Document']/*[local-name() != 'NetworkLink']" mode="property"/>
      <xsl:apply-templates select="//*[local-name() = 'NetworkLink']" mode="property"/>
      <xsl:for-each select="*/*[local-name() = 'Placemark' or local-name() = 'Folder'] |
                            */*[local-name() = 'Document']/*[local-name() = 'Placemark' or local-name() = 'Folder' or local-name() = 'Document']">
        <dcterms:hasPart><xsl:attribute name="rdf:resource"><xsl:call-template name="address"/></xsl:attribute></dcterms:hasPart>
      </xsl:for-each>
      <xsl:call-template name="fetched"/>
    </foaf:Document>
    <xsl:apply-templates select="//*[local-name() = 'Placemark' or local-name() = 'Folder'] |
                                 */*[local-name() = 'Document']//*[local-name() = 'Document']"/>
  </rdf:RDF>
</xsl:template>

<!-- Things are named by their id, else by their place among the containers and placemarks around: #Placemark-1-2. -->
<xsl:template name="address">
  <xsl:text>#</xsl:text>
  <xsl:choose>
    <xsl:when test="@id">
      <xsl:call-template name="iri"><xsl:with-param name="value" select="@id"/></xsl:call-template>
    </xsl:when>
    <xsl:otherwise>
      <xsl:value-of select="concat(local-name(), '-')"/>
      <xsl:number level="multiple" format="1-1" count="*[local-name() = 'Placemark' or local-name() = 'Folder' or local-name() = 'Document']"/>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="*[local-name() = 'Folder' or local-name() = 'Document']">
  <schema:Collection>
    <xsl:attribute name="rdf:about"><xsl:call-template name="address"/></xsl:attribute>
    <xsl:apply-templates select="*" mode="property"/>
    <xsl:for-each select="*[local-name() = 'Placemark' or local-name() = 'Folder' or local-name() = 'Document']">
      <dcterms:hasPart><xsl:attribute name="rdf:resource"><xsl:call-template name="address"/></xsl:attribute></dcterms:hasPart>
    </xsl:for-each>
  </schema:Collection>
</xsl:template>

<xsl:template match="*[local-name() = 'Placemark']">
  <schema:Place>
    <xsl:attribute name="rdf:about"><xsl:call-template name="address"/></xsl:attribute>
    <xsl:apply-templates select="*" mode="property"/>
  </schema:Place>
</xsl:template>

<!-- Styles, views and whatever nobody knows are left out. -->
<xsl:template match="*" mode="property"/>
<xsl:template match="*[local-name() = 'name']" mode="property">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'rdfs:label'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'Document'][not(ancestor::*[local-name() = 'Document'])]/*[local-name() = 'name']" mode="property" priority="1">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:title'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'description' or local-name() = 'Snippet']" mode="property">
  <xsl:choose>
    <xsl:when test="contains(., '&lt;')">
      <xsl:call-template name="markup"><xsl:with-param name="property" select="'dcterms:description'"/></xsl:call-template>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:description'"/></xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>
<xsl:template match="*[local-name() = 'address']" mode="property">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'schema:address'"/></xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'phoneNumber']" mode="property">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'schema:telephone'"/>
    <xsl:with-param name="value" select="concat(substring-after(., 'tel:'), substring(., 1, string-length() * not(starts-with(., 'tel:'))))"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="atom:link[@href]" mode="property">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'rdfs:seeAlso'"/>
    <xsl:with-param name="value" select="@href"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="atom:author" mode="property">
  <dcterms:creator>
    <foaf:Agent>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'foaf:name'"/>
        <xsl:with-param name="value" select="atom:name"/>
      </xsl:call-template>
      <xsl:call-template name="resource">
        <xsl:with-param name="property" select="'foaf:homepage'"/>
        <xsl:with-param name="value" select="atom:uri"/>
      </xsl:call-template>
    </foaf:Agent>
  </dcterms:creator>
</xsl:template>
<xsl:template match="*[local-name() = 'NetworkLink']" mode="property">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'rdfs:seeAlso'"/>
    <xsl:with-param name="value" select="*[local-name() = 'Link' or local-name() = 'Url']/*[local-name() = 'href']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'TimeStamp']" mode="property">
  <xsl:call-template name="date">
    <xsl:with-param name="property" select="'dcterms:date'"/>
    <xsl:with-param name="value" select="*[local-name() = 'when']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'TimeSpan']" mode="property">
  <xsl:call-template name="date">
    <xsl:with-param name="property" select="'schema:startDate'"/>
    <xsl:with-param name="value" select="*[local-name() = 'begin']"/>
  </xsl:call-template>
  <xsl:call-template name="date">
    <xsl:with-param name="property" select="'schema:endDate'"/>
    <xsl:with-param name="value" select="*[local-name() = 'end']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="*[local-name() = 'ExtendedData']" mode="property">
  <xsl:for-each select="*[local-name() = 'Data'] | */*[local-name() = 'SimpleData']">
    <schema:additionalProperty>
      <schema:PropertyValue>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'schema:name'"/>
          <xsl:with-param name="value" select="(*[local-name() = 'displayName'] | @name[not(../*[local-name() = 'displayName'])])[1]"/>
        </xsl:call-template>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'schema:value'"/>
          <xsl:with-param name="value" select="*[local-name() = 'value'] | self::*[local-name() = 'SimpleData']"/>
        </xsl:call-template>
      </schema:PropertyValue>
    </schema:additionalProperty>
  </xsl:for-each>
</xsl:template>

<!-- Geometries. Coordinates are longitude, latitude and maybe height, with commas; tuples have white space between. -->
<xsl:template match="*[local-name() = 'MultiGeometry']" mode="property">
  <xsl:apply-templates select="*" mode="property"/>
</xsl:template>
<xsl:template match="*[local-name() = 'Point']" mode="property">
  <xsl:variable name="tuple" select="substring-before(concat(normalize-space(*[local-name() = 'coordinates']), ' '), ' ')"/>
  <xsl:variable name="after" select="substring-after($tuple, ',')"/>
  <xsl:if test="$after != ''">
    <geo:location>
      <geo:Point>
        <xsl:call-template name="decimal">
          <xsl:with-param name="property" select="'geo:lat'"/>
          <xsl:with-param name="value" select="substring-before(concat($after, ','), ',')"/>
        </xsl:call-template>
        <xsl:call-template name="decimal">
          <xsl:with-param name="property" select="'geo:long'"/>
          <xsl:with-param name="value" select="substring-before($tuple, ',')"/>
        </xsl:call-template>
        <xsl:call-template name="decimal">
          <xsl:with-param name="property" select="'geo:alt'"/>
          <xsl:with-param name="value" select="substring-after($after, ',')"/>
        </xsl:call-template>
      </geo:Point>
    </geo:location>
  </xsl:if>
</xsl:template>
<xsl:template match="*[local-name() = 'LineString' or local-name() = 'LinearRing']" mode="property">
  <schema:geo>
    <schema:GeoShape>
      <schema:line><xsl:call-template name="tuples"><xsl:with-param name="rest" select="normalize-space(*[local-name() = 'coordinates'])"/></xsl:call-template></schema:line>
    </schema:GeoShape>
  </schema:geo>
</xsl:template>
<xsl:template match="*[local-name() = 'Polygon']" mode="property">
  <schema:geo>
    <schema:GeoShape>
      <schema:polygon><xsl:call-template name="tuples"><xsl:with-param name="rest" select="normalize-space(*[local-name() = 'outerBoundaryIs']/*/*[local-name() = 'coordinates'])"/></xsl:call-template></schema:polygon>
    </schema:GeoShape>
  </schema:geo>
</xsl:template>

<!-- Tuples as schema.org writes them: latitude, longitude. Half of them at a time, so that long lines need no deep
     recursion. -->
<xsl:template name="tuples">
  <xsl:param name="rest"/>
  <xsl:variable name="half" select="floor(string-length($rest) div 2)"/>
  <xsl:variable name="tail" select="substring-after(substring($rest, $half + 1), ' ')"/>
  <xsl:choose>
    <xsl:when test="not(contains($rest, ' '))">
      <xsl:value-of select="concat(substring-before(concat(substring-after($rest, ','), ','), ','), ',', substring-before($rest, ','))"/>
    </xsl:when>
    <xsl:when test="$tail = ''">
      <!-- The only blanks are in the first half. -->
      <xsl:call-template name="tuples"><xsl:with-param name="rest" select="substring-before($rest, ' ')"/></xsl:call-template>
      <xsl:text> </xsl:text>
      <xsl:call-template name="tuples"><xsl:with-param name="rest" select="substring-after($rest, ' ')"/></xsl:call-template>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="tuples"><xsl:with-param name="rest" select="substring($rest, 1, string-length($rest) - string-length($tail) - 1)"/></xsl:call-template>
      <xsl:text> </xsl:text>
      <xsl:call-template name="tuples"><xsl:with-param name="rest" select="$tail"/></xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

</xsl:stylesheet>
