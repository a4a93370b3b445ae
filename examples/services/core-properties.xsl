<?xml version="1.0" encoding="UTF-8"?>
<!-- The core properties of an office document, as Dublin Core. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:schema="http://schema.org/" xmlns:bibo="http://purl.org/ontology/bibo/"
  xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
  exclude-result-prefixes="dc cp">

<xsl:param name="page-url"/>

<xsl:template match="/cp:coreProperties">
  <rdf:RDF>
    <bibo:Document rdf:about="{$page-url}">
      <xsl:apply-templates select="*[normalize-space()]"/>
    </bibo:Document>
  </rdf:RDF>
</xsl:template>

<xsl:template match="dc:title | dc:creator | dc:subject | dc:description | dc:language">
  <xsl:element name="dcterms:{local-name()}"><xsl:value-of select="."/></xsl:element>
</xsl:template>

<xsl:template match="dcterms:created | dcterms:modified">
  <xsl:element name="dcterms:{local-name()}">
    <xsl:attribute name="rdf:datatype">http://www.w3.org/2001/XMLSchema#dateTime</xsl:attribute>
    <xsl:value-of select="."/>
  </xsl:element>
</xsl:template>

<xsl:template match="cp:keywords">
  <schema:keywords><xsl:value-of select="."/></schema:keywords>
</xsl:template>

<xsl:template match="*"/>

</xsl:stylesheet>
