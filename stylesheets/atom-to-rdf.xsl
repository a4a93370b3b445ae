<?xml version="1.0" encoding="UTF-8"?>
<!--
  Atom 1.0 into RSS 1.0's vocabulary, as docs/feeds.md describes it: the feed is the page, an entry is its alternate
  link, else its id, else a blank node.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:rss="http://purl.org/rss/1.0/"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:admin="http://webns.net/mvcb/"
  xmlns:schema="http://schema.org/"
  xmlns:xhv="http://www.w3.org/1999/xhtml/vocab#"
  xmlns:h="http://www.w3.org/1999/xhtml"
  xmlns:atom="http://www.w3.org/2005/Atom"
  exclude-result-prefixes="atom h">

<xsl:import href="feed.xsl"/>

<!-- Entries by the page they are of. -->
<xsl:key name="entry" match="atom:entry" use="normalize-space(atom:link[not(@rel) or @rel = 'alternate'][1]/@href)"/>

<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page">
      <xsl:with-param name="base" select="*/@xml:base"/>
    </xsl:call-template>
    <xsl:apply-templates select="atom:feed"/>
    <xsl:apply-templates select="atom:feed/atom:entry | atom:entry"/>
    <xsl:apply-templates select="//atom:link[@href]" mode="target"/>
  </rdf:RDF>
</xsl:template>

<xsl:template match="atom:feed">
  <rss:channel rdf:about="{$page-url}">
    <dcterms:conformsTo rdf:resource="http://www.w3.org/2005/Atom"/>
    <xsl:call-template name="plain">
      <xsl:with-param name="property" select="'dc:language'"/>
      <xsl:with-param name="value" select="@xml:lang"/>
    </xsl:call-template>
    <xsl:apply-templates select="*[not(self::atom:entry)]"/>
    <xsl:call-template name="items"><xsl:with-param name="items" select="atom:entry"/></xsl:call-template>
    <xsl:call-template name="fetched"/>
  </rss:channel>
</xsl:template>

<xsl:template match="atom:entry">
  <rss:item>
    <xsl:call-template name="subject"/>
    <xsl:apply-templates select="*"/>
  </rss:item>
</xsl:template>

<xsl:template match="atom:entry" mode="subject">
  <xsl:variable name="link" select="normalize-space(atom:link[not(@rel) or @rel = 'alternate'][1]/@href)"/>
  <xsl:variable name="home" select="normalize-space(../atom:link[not(@rel) or @rel = 'alternate'][1]/@href)"/>
  <xsl:choose>
    <xsl:when test="$link != '' and $link != $home and generate-id() = generate-id(key('entry', $link)[1])">
      <xsl:call-template name="iri"><xsl:with-param name="value" select="$link"/></xsl:call-template>
    </xsl:when>
    <xsl:when test="contains(atom:id, ':')">
      <xsl:call-template name="iri"><xsl:with-param name="value" select="atom:id"/></xsl:call-template>
    </xsl:when>
  </xsl:choose>
</xsl:template>

<!-- What nobody knows is left out. -->
<xsl:template match="*"/>

<xsl:template match="atom:title">
  <xsl:call-template name="construct"><xsl:with-param name="property" select="'rss:title'"/></xsl:call-template>
</xsl:template>
<xsl:template match="atom:subtitle | atom:summary">
  <xsl:call-template name="construct"><xsl:with-param name="property" select="'rss:description'"/></xsl:call-template>
</xsl:template>
<xsl:template match="atom:rights">
  <xsl:call-template name="construct"><xsl:with-param name="property" select="'dc:rights'"/></xsl:call-template>
</xsl:template>
<xsl:template match="atom:content[not(@src)]">
  <xsl:call-template name="construct"><xsl:with-param name="property" select="'content:encoded'"/></xsl:call-template>
</xsl:template>
<xsl:template match="atom:content[@src]">
  <xsl:call-template name="enclosure">
    <xsl:with-param name="address" select="@src"/>
    <xsl:with-param name="type" select="@type"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="atom:id">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:identifier'"/></xsl:call-template>
</xsl:template>

<!-- dc:date is the property to sort by, so there is one wherever there is a date. -->
<xsl:template match="atom:published">
  <xsl:call-template name="date">
    <xsl:with-param name="property" select="'dcterms:issued'"/>
    <xsl:with-param name="also">
      <xsl:if test="not(parent::atom:source) and not(preceding-sibling::atom:published)">dc:date</xsl:if>
    </xsl:with-param>
  </xsl:call-template>
</xsl:template>
<xsl:template match="atom:updated">
  <xsl:call-template name="date">
    <xsl:with-param name="property" select="'dcterms:modified'"/>
    <xsl:with-param name="also">
      <xsl:if test="not(parent::atom:source) and not(../atom:published) and
                    not(preceding-sibling::atom:updated)">dc:date</xsl:if>
    </xsl:with-param>
  </xsl:call-template>
</xsl:template>

<xsl:template match="atom:author | atom:contributor">
  <xsl:variable name="role">
    <xsl:choose>
      <xsl:when test="self::atom:author">creator</xsl:when>
      <xsl:otherwise>contributor</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:call-template name="agent">
    <xsl:with-param name="role" select="$role"/>
    <xsl:with-param name="name" select="atom:name"/>
    <xsl:with-param name="mail" select="atom:email"/>
    <xsl:with-param name="homepage" select="atom:uri"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="atom:category">
  <xsl:call-template name="category">
    <xsl:with-param name="term" select="@term"/>
    <xsl:with-param name="scheme" select="@scheme"/>
    <xsl:with-param name="label" select="@label"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="atom:generator">
  <admin:generatorAgent rdf:parseType="Resource">
    <xsl:call-template name="plain"><xsl:with-param name="property" select="'foaf:name'"/></xsl:call-template>
    <xsl:call-template name="plain">
      <xsl:with-param name="property" select="'schema:softwareVersion'"/>
      <xsl:with-param name="value" select="@version"/>
    </xsl:call-template>
    <xsl:call-template name="resource">
      <xsl:with-param name="property" select="'foaf:homepage'"/>
      <xsl:with-param name="value" select="@uri"/>
    </xsl:call-template>
  </admin:generatorAgent>
</xsl:template>

<xsl:template match="atom:icon">
  <xsl:call-template name="resource"><xsl:with-param name="property" select="'xhv:icon'"/></xsl:call-template>
</xsl:template>
<xsl:template match="atom:logo">
  <xsl:call-template name="resource"><xsl:with-param name="property" select="'foaf:logo'"/></xsl:call-template>
</xsl:template>

<xsl:template match="atom:source">
  <dcterms:source>
    <rss:channel>
      <xsl:if test="atom:link[@rel = 'self']/@href">
        <xsl:attribute name="rdf:about"><xsl:value-of select="atom:link[@rel = 'self']/@href"/></xsl:attribute>
      </xsl:if>
      <xsl:apply-templates select="*"/>
    </rss:channel>
  </dcterms:source>
</xsl:template>

<!-- The first link without relation is the page itself; further ones, in other languages or formats, are alternates. -->
<xsl:template match="atom:link[@href]">
  <xsl:choose>
    <xsl:when test="(not(@rel) or @rel = 'alternate') and not(preceding-sibling::atom:link[not(@rel) or @rel = 'alternate'])">
      <xsl:call-template name="resource">
        <xsl:with-param name="property" select="'rss:link'"/>
        <xsl:with-param name="value" select="@href"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:when test="@rel = 'enclosure'">
      <xsl:call-template name="enclosure">
        <xsl:with-param name="address" select="@href"/>
        <xsl:with-param name="type" select="@type"/>
        <xsl:with-param name="length" select="@length"/>
        <xsl:with-param name="title" select="@title"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="related">
        <xsl:with-param name="relation" select="concat(@rel, substring('alternate', 1, 9 * not(@rel)))"/>
        <xsl:with-param name="address" select="@href"/>
      </xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<!-- What a link says of its target. -->
<xsl:template match="atom:link[@rel = 'enclosure']" mode="target" priority="1"/>
<xsl:template match="atom:link" mode="target">
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="@href"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != '' and (@type or @title or @hreflang)">
    <rdf:Description rdf:about="{$iri}">
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'dcterms:format'"/>
        <xsl:with-param name="value" select="@type"/>
      </xsl:call-template>
      <xsl:call-template name="literal">
        <xsl:with-param name="property" select="'rdfs:label'"/>
        <xsl:with-param name="value" select="@title"/>
      </xsl:call-template>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'dcterms:language'"/>
        <xsl:with-param name="value" select="@hreflang"/>
      </xsl:call-template>
    </rdf:Description>
  </xsl:if>
</xsl:template>

<!-- Atom's texts: plain, HTML in characters, or XHTML, which is written out. -->
<xsl:template name="construct">
  <xsl:param name="property"/>
  <xsl:choose>
    <xsl:when test="@type = 'xhtml'">
      <xsl:variable name="markup"><xsl:apply-templates select="h:div/node()" mode="written"/></xsl:variable>
      <xsl:call-template name="markup">
        <xsl:with-param name="property" select="$property"/>
        <xsl:with-param name="value" select="$markup"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:when test="@type = 'html' or @type = 'text/html'">
      <xsl:call-template name="markup"><xsl:with-param name="property" select="$property"/></xsl:call-template>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="literal"><xsl:with-param name="property" select="$property"/></xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<!-- XHTML as the characters of HTML. -->
<xsl:template match="*" mode="written">
  <xsl:value-of select="concat('&lt;', local-name())"/>
  <xsl:for-each select="@*">
    <xsl:value-of select="concat(' ', name(), '=&quot;')"/>
    <xsl:call-template name="written"><xsl:with-param name="text" select="."/></xsl:call-template>
    <xsl:text>"</xsl:text>
  </xsl:for-each>
  <xsl:text>></xsl:text>
  <xsl:if test="not(contains(' area base br col embed hr img input link meta param source track wbr ', concat(' ', local-name(), ' ')))">
    <xsl:apply-templates mode="written"/>
    <xsl:value-of select="concat('&lt;/', local-name(), '>')"/>
  </xsl:if>
</xsl:template>
<xsl:template match="text()" mode="written">
  <xsl:call-template name="written"><xsl:with-param name="text" select="."/></xsl:call-template>
</xsl:template>
<xsl:template match="comment() | processing-instruction()" mode="written"/>
<xsl:template name="written">
  <xsl:param name="text"/>
  <xsl:variable name="mark" select="substring(translate($text, translate($text, '&lt;&gt;&amp;&quot;', ''), ''), 1, 1)"/>
  <xsl:choose>
    <xsl:when test="$mark = ''"><xsl:value-of select="$text"/></xsl:when>
    <xsl:otherwise>
      <xsl:value-of select="substring-before($text, $mark)"/>
      <xsl:choose>
        <xsl:when test="$mark = '&lt;'">&amp;lt;</xsl:when>
        <xsl:when test="$mark = '&gt;'">&amp;gt;</xsl:when>
        <xsl:when test="$mark = '&amp;'">&amp;amp;</xsl:when>
        <xsl:otherwise>&amp;quot;</xsl:otherwise>
      </xsl:choose>
      <xsl:call-template name="written">
        <xsl:with-param name="text" select="substring-after($text, $mark)"/>
      </xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

</xsl:stylesheet>
