<?xml version="1.0" encoding="UTF-8"?>
<!--
  OAI-PMH (GetRecord, ListRecords) with Dublin Core to RDF. A record is named by the identifier in its header; the page
  has the records as parts, and the next portion of a list as xhv:next.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:bibo="http://purl.org/ontology/bibo/"
  xmlns:xhv="http://www.w3.org/1999/xhtml/vocab#"
  xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:oai="http://www.openarchives.org/OAI/2.0/"
  xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/"
  xmlns:str="http://exslt.org/strings"
  exclude-result-prefixes="oai oai_dc str">

<xsl:import href="common.xsl"/>

<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page"/>
    <xsl:apply-templates select="oai:OAI-PMH"/>
  </rdf:RDF>
</xsl:template>

<xsl:template match="oai:OAI-PMH">
  <foaf:Document rdf:about="{$page-url}">
    <xsl:call-template name="resource">
      <xsl:with-param name="property" select="'dcterms:source'"/>
      <xsl:with-param name="value" select="oai:request"/>
    </xsl:call-template>
    <xsl:call-template name="date">
      <xsl:with-param name="property" select="'dcterms:created'"/>
      <xsl:with-param name="value" select="oai:responseDate"/>
    </xsl:call-template>
    <xsl:for-each select="oai:error">
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'rdfs:comment'"/>
        <xsl:with-param name="value" select="concat(@code, ': ', .)"/>
      </xsl:call-template>
    </xsl:for-each>
    <xsl:for-each select="*/oai:record">
      <dcterms:hasPart><xsl:call-template name="record"><xsl:with-param name="about" select="'rdf:resource'"/></xsl:call-template></dcterms:hasPart>
    </xsl:for-each>
    <xsl:apply-templates select="*/oai:resumptionToken"/>
    <xsl:call-template name="fetched"/>
  </foaf:Document>
  <xsl:apply-templates select="*/oai:record"/>
</xsl:template>

<!-- The rest of a list is one more request away. -->
<xsl:template match="oai:resumptionToken[normalize-space() != '']">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'xhv:next'"/>
    <xsl:with-param name="value" select="concat(normalize-space(/oai:OAI-PMH/oai:request), '?verb=', local-name(..), '&amp;resumptionToken=', str:encode-uri(normalize-space(), true()))"/>
  </xsl:call-template>
</xsl:template>

<!-- The subject of a record: the identifier of its header where that is an IRI. -->
<xsl:template name="record">
  <xsl:param name="about" select="'rdf:about'"/>
  <xsl:variable name="identifier" select="normalize-space(oai:header/oai:identifier)"/>
  <xsl:choose>
    <xsl:when test="contains($identifier, ':') and not(contains($identifier, ' '))">
      <xsl:attribute name="{$about}">
        <xsl:call-template name="iri"><xsl:with-param name="value" select="$identifier"/></xsl:call-template>
      </xsl:attribute>
    </xsl:when>
    <xsl:otherwise>
      <xsl:attribute name="rdf:nodeID"><xsl:value-of select="generate-id()"/></xsl:attribute>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="oai:record">
  <bibo:Document>
    <xsl:call-template name="record"/>
    <xsl:apply-templates select="oai:header/* | oai:header/@status"/>
    <xsl:apply-templates select="oai:metadata/oai_dc:dc/dc:*"/>
  </bibo:Document>
</xsl:template>

<xsl:template match="oai:header/oai:identifier">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:identifier'"/></xsl:call-template>
</xsl:template>
<xsl:template match="oai:datestamp">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:modified'"/></xsl:call-template>
</xsl:template>
<xsl:template match="oai:setSpec">
  <dcterms:isPartOf rdf:parseType="Resource">
    <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:identifier'"/></xsl:call-template>
  </dcterms:isPartOf>
</xsl:template>
<xsl:template match="oai:header/@status[. = 'deleted']">
  <xsl:call-template name="typed">
    <xsl:with-param name="property" select="'owl:deprecated'"/>
    <xsl:with-param name="value" select="'true'"/>
    <xsl:with-param name="type" select="'boolean'"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="@status"/>

<!-- The fifteen elements keep their names; dates get their datatype, addresses become links besides. -->
<xsl:template match="dc:date">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dc:date'"/></xsl:call-template>
</xsl:template>
<xsl:template match="dc:language | dc:format | dc:creator | dc:contributor | dc:publisher">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="concat('dc:', local-name())"/></xsl:call-template>
</xsl:template>
<xsl:template match="dc:identifier | dc:relation | dc:source | dc:rights">
  <xsl:variable name="text" select="normalize-space()"/>
  <xsl:choose>
    <xsl:when test="(starts-with($text, 'http://') or starts-with($text, 'https://')) and not(contains($text, ' '))">
      <xsl:choose>
        <xsl:when test="self::dc:identifier">
          <xsl:call-template name="plain"><xsl:with-param name="property" select="'dc:identifier'"/></xsl:call-template>
          <xsl:call-template name="resource"><xsl:with-param name="property" select="'rdfs:seeAlso'"/></xsl:call-template>
        </xsl:when>
        <xsl:otherwise>
          <xsl:call-template name="resource"><xsl:with-param name="property" select="concat('dcterms:', local-name())"/></xsl:call-template>
        </xsl:otherwise>
      </xsl:choose>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="literal"><xsl:with-param name="property" select="concat('dc:', local-name())"/></xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>
<xsl:template match="dc:title | dc:subject | dc:description | dc:coverage | dc:type">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="concat('dc:', local-name())"/></xsl:call-template>
</xsl:template>
<xsl:template match="dc:*" priority="-1"/>

</xsl:stylesheet>
