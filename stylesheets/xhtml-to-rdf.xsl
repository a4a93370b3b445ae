<?xml version="1.0" encoding="UTF-8"?>
<!--
  XHTML to RDF: title, description, language, author, keywords, links with their labels, relations, pictures and mail
  addresses of a page, as Webloom's own reader of HTML writes them.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:h="http://www.w3.org/1999/xhtml"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:xhv="http://www.w3.org/1999/xhtml/vocab#"
  exclude-result-prefixes="h">

<xsl:import href="common.xsl"/>

<xsl:variable name="upper" select="'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"/>
<xsl:variable name="lower" select="'abcdefghijklmnopqrstuvwxyz'"/>
<!-- The relations that XHTML's vocabulary has. -->
<xsl:variable name="relations" select="' alternate appendix bookmark cite chapter contents copyright first glossary help icon index itsRules last license meta next prev section start stylesheet subsection top up p3pv1 '"/>


<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page">
      <xsl:with-param name="base" select="h:html/h:head/h:base/@href"/>
    </xsl:call-template>
    <xsl:apply-templates select="h:html"/>
  </rdf:RDF>
</xsl:template>

<xsl:template match="h:html">
  <xsl:variable name="language" select="normalize-space((@xml:lang | @lang)[1])"/>
  <foaf:Document rdf:about="{$page-url}">
    <xsl:call-template name="literal">
      <xsl:with-param name="property" select="'dcterms:title'"/>
      <xsl:with-param name="node" select="h:head/h:title[1]"/>
      <xsl:with-param name="language" select="(h:head/h:title[1]/@xml:lang | h:head/h:title[1]/@lang | @xml:lang | @lang)[last()]"/>
    </xsl:call-template>
    <xsl:call-template name="plain">
      <xsl:with-param name="property" select="'dcterms:language'"/>
      <xsl:with-param name="value" select="$language"/>
    </xsl:call-template>
    <xsl:apply-templates select="h:head/h:meta[@name]">
      <xsl:with-param name="language" select="$language"/>
    </xsl:apply-templates>
    <xsl:apply-templates select="//h:a[@href] | //h:area[@href]" mode="link"/>
    <xsl:apply-templates select="//h:link[@href][@rel] | //h:a[@href][@rel]" mode="relation"/>
    <xsl:apply-templates select="//h:img[@src]"/>
    <xsl:call-template name="fetched"/>
  </foaf:Document>
  <xsl:apply-templates select="//h:a[@href] | //h:img[@src][@alt]" mode="label"/>
  <xsl:apply-templates select="//h:link[@href][@rel][@type]" mode="format"/>
</xsl:template>

<xsl:template match="h:meta">
  <xsl:param name="language"/>
  <xsl:variable name="name" select="translate(normalize-space(@name), $upper, $lower)"/>
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="$name = 'description'">dcterms:description</xsl:when>
      <xsl:when test="$name = 'author' or $name = 'creator'">dcterms:creator</xsl:when>
      <xsl:when test="$name = 'publisher'">dcterms:publisher</xsl:when>
      <xsl:when test="$name = 'copyright' or $name = 'rights'">dcterms:rights</xsl:when>
      <xsl:when test="$name = 'abstract'">dcterms:abstract</xsl:when>
    </xsl:choose>
  </xsl:variable>
  <xsl:choose>
    <xsl:when test="$name = 'keywords'">
      <xsl:call-template name="keywords">
        <xsl:with-param name="list" select="@content"/>
        <xsl:with-param name="language" select="$language"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:when test="$name = 'description' and preceding-sibling::h:meta[translate(normalize-space(@name), $upper, $lower) = 'description']"/>
    <xsl:when test="$property = 'dcterms:creator' or $property = 'dcterms:publisher'">
      <!-- Names are in no language. -->
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="string($property)"/>
        <xsl:with-param name="value" select="@content"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:when test="$property != ''">
      <xsl:call-template name="literal">
        <xsl:with-param name="property" select="string($property)"/>
        <xsl:with-param name="value" select="@content"/>
        <xsl:with-param name="language" select="$language"/>
      </xsl:call-template>
    </xsl:when>
  </xsl:choose>
</xsl:template>

<!-- One subject for each word between commas. -->
<xsl:template name="keywords">
  <xsl:param name="list"/>
  <xsl:param name="language"/>
  <xsl:call-template name="literal">
    <xsl:with-param name="property" select="'dcterms:subject'"/>
    <xsl:with-param name="value" select="substring-before(concat($list, ','), ',')"/>
    <xsl:with-param name="language" select="$language"/>
  </xsl:call-template>
  <xsl:if test="contains($list, ',')">
    <xsl:call-template name="keywords">
      <xsl:with-param name="list" select="substring-after($list, ',')"/>
      <xsl:with-param name="language" select="$language"/>
    </xsl:call-template>
  </xsl:if>
</xsl:template>

<!-- Links within the page lead nowhere new. -->
<xsl:template match="h:*[starts-with(normalize-space(@href), '#') or normalize-space(@href) = '']" mode="link" priority="2"/>
<xsl:template match="h:*[starts-with(normalize-space(@href), 'mailto:')]" mode="link" priority="1">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'foaf:mbox'"/>
    <xsl:with-param name="value" select="substring-before(concat(@href, '?'), '?')"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="h:*" mode="link">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'rdfs:seeAlso'"/>
    <xsl:with-param name="value" select="@href"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="h:img">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'foaf:depiction'"/>
    <xsl:with-param name="value" select="@src"/>
  </xsl:call-template>
</xsl:template>

<!-- Relations: one statement for each word of rel that the vocabulary of XHTML has. -->
<xsl:template match="h:link | h:a" mode="relation">
  <xsl:call-template name="relations">
    <xsl:with-param name="words" select="normalize-space(translate(@rel, $upper, $lower))"/>
  </xsl:call-template>
</xsl:template>
<xsl:template name="relations">
  <xsl:param name="words"/>
  <xsl:variable name="word" select="substring-before(concat($words, ' '), ' ')"/>
  <xsl:if test="$word != ''">
    <xsl:if test="contains($relations, concat(' ', $word, ' '))">
      <xsl:call-template name="resource">
        <xsl:with-param name="property" select="concat('xhv:', $word)"/>
        <xsl:with-param name="value" select="@href"/>
      </xsl:call-template>
    </xsl:if>
    <xsl:call-template name="relations">
      <xsl:with-param name="words" select="substring-after($words, ' ')"/>
    </xsl:call-template>
  </xsl:if>
</xsl:template>

<!-- The media type that a link promises. -->
<xsl:template match="h:link" mode="format">
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="@href"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != ''">
    <rdf:Description rdf:about="{$iri}">
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'dcterms:format'"/>
        <xsl:with-param name="value" select="@type"/>
      </xsl:call-template>
    </rdf:Description>
  </xsl:if>
</xsl:template>

<!-- Labels of what is linked to. -->
<xsl:template match="h:a[starts-with(normalize-space(@href), '#') or normalize-space(@href) = ''
                         or starts-with(normalize-space(@href), 'mailto:')]" mode="label" priority="2"/>
<xsl:template match="h:a" mode="label">
  <xsl:variable name="text" select="normalize-space()"/>
  <xsl:variable name="label">
    <xsl:choose>
      <xsl:when test="$text != ''"><xsl:value-of select="$text"/></xsl:when>
      <xsl:otherwise><xsl:value-of select=".//h:img/@alt"/></xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:call-template name="labelled">
    <xsl:with-param name="address" select="@href"/>
    <xsl:with-param name="label" select="$label"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="h:img" mode="label">
  <xsl:call-template name="labelled">
    <xsl:with-param name="address" select="@src"/>
    <xsl:with-param name="label" select="@alt"/>
  </xsl:call-template>
</xsl:template>
<xsl:template name="labelled">
  <xsl:param name="address"/>
  <xsl:param name="label"/>
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="$address"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != '' and normalize-space($label) != ''">
    <rdf:Description rdf:about="{$iri}">
      <xsl:call-template name="literal">
        <xsl:with-param name="property" select="'rdfs:label'"/>
        <xsl:with-param name="value" select="$label"/>
        <xsl:with-param name="language" select="ancestor-or-self::*[@xml:lang or @lang][1]/@*[name() = 'xml:lang' or name() = 'lang'][1]"/>
      </xsl:call-template>
    </rdf:Description>
  </xsl:if>
</xsl:template>

</xsl:stylesheet>
