<?xml version="1.0" encoding="UTF-8"?>
<!--
  RSS 0.91 to 2.0 into RSS 1.0's vocabulary, as docs/feeds.md describes it: the channel is the page, an item is its
  link, else a guid that is an IRI, else a blank node.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:rss="http://purl.org/rss/1.0/"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:slash="http://purl.org/rss/1.0/modules/slash/"
  xmlns:admin="http://webns.net/mvcb/"
  xmlns:schema="http://schema.org/"
  xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"
  xmlns:atom="http://www.w3.org/2005/Atom"
  xmlns:xhv="http://www.w3.org/1999/xhtml/vocab#"
  exclude-result-prefixes="atom">

<xsl:import href="feed.xsl"/>

<xsl:key name="item" match="item" use="normalize-space(link)"/>

<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page"/>
    <xsl:apply-templates select="rss/channel"/>
    <!-- RSS 0.90 and 0.91 put items beside the channel now and then. -->
    <xsl:apply-templates select="rss/channel/item | rss/item"/>
  </rdf:RDF>
</xsl:template>

<xsl:template match="channel">
  <rss:channel rdf:about="{$page-url}">
    <dcterms:conformsTo rdf:resource="https://www.rssboard.org/rss-specification"/>
    <xsl:apply-templates select="*[not(self::item)]"/>
    <xsl:call-template name="items"><xsl:with-param name="items" select="item | ../item"/></xsl:call-template>
    <xsl:call-template name="fetched"/>
  </rss:channel>
</xsl:template>

<xsl:template match="item">
  <rss:item>
    <xsl:call-template name="subject"/>
    <xsl:apply-templates select="*"/>
    <xsl:if test="geo:lat and geo:long">
      <geo:location>
        <geo:Point>
          <xsl:call-template name="decimal">
            <xsl:with-param name="property" select="'geo:lat'"/>
            <xsl:with-param name="value" select="geo:lat"/>
          </xsl:call-template>
          <xsl:call-template name="decimal">
            <xsl:with-param name="property" select="'geo:long'"/>
            <xsl:with-param name="value" select="geo:long"/>
          </xsl:call-template>
        </geo:Point>
      </geo:location>
    </xsl:if>
  </rss:item>
</xsl:template>

<!-- Items that share a link, or have the channel's, are told apart by their guid. -->
<xsl:template match="item" mode="subject">
  <xsl:variable name="link" select="normalize-space(link)"/>
  <xsl:variable name="guid" select="normalize-space(guid)"/>
  <xsl:choose>
    <xsl:when test="$link != '' and $link != normalize-space(../link) and
                    generate-id() = generate-id(key('item', $link)[1])">
      <xsl:call-template name="iri"><xsl:with-param name="value" select="$link"/></xsl:call-template>
    </xsl:when>
    <xsl:when test="contains($guid, ':') and translate(substring-before($guid, ':'),
                    'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.', '') = ''">
      <xsl:call-template name="iri"><xsl:with-param name="value" select="$guid"/></xsl:call-template>
    </xsl:when>
  </xsl:choose>
</xsl:template>

<!-- What nobody knows is left out. -->
<xsl:template match="*"/>

<xsl:template match="title">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'rss:title'"/></xsl:call-template>
</xsl:template>

<xsl:template match="link">
  <xsl:call-template name="resource"><xsl:with-param name="property" select="'rss:link'"/></xsl:call-template>
</xsl:template>

<xsl:template match="description">
  <xsl:call-template name="text-or-markup"><xsl:with-param name="property" select="'rss:description'"/></xsl:call-template>
</xsl:template>

<xsl:template match="content:encoded">
  <xsl:call-template name="text-or-markup"><xsl:with-param name="property" select="'content:encoded'"/></xsl:call-template>
</xsl:template>

<xsl:template match="guid">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:identifier'"/></xsl:call-template>
  <xsl:if test="not(../link) and not(@isPermaLink = 'false') and contains(., '://')">
    <xsl:call-template name="resource"><xsl:with-param name="property" select="'rss:link'"/></xsl:call-template>
  </xsl:if>
</xsl:template>

<xsl:template match="language | dc:language">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dc:language'"/></xsl:call-template>
</xsl:template>

<xsl:template match="copyright | dc:rights">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dc:rights'"/></xsl:call-template>
</xsl:template>

<xsl:template match="category | dc:subject">
  <xsl:call-template name="category">
    <xsl:with-param name="term" select="."/>
    <xsl:with-param name="scheme" select="@domain"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="pubDate | lastBuildDate | dc:date">
  <xsl:variable name="iso"><xsl:call-template name="iso-date"/></xsl:variable>
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="self::pubDate">dcterms:issued</xsl:when>
      <xsl:when test="self::lastBuildDate">dcterms:modified</xsl:when>
      <xsl:otherwise>dc:date</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:call-template name="date">
    <xsl:with-param name="property" select="string($property)"/>
    <xsl:with-param name="value" select="$iso"/>
    <!-- dc:date is the property to sort by, so there is one wherever there is a date. -->
    <xsl:with-param name="also">
      <xsl:if test="not(../dc:date) and (self::pubDate and not(preceding-sibling::pubDate) or
                    not(../pubDate) and not(preceding-sibling::lastBuildDate))">dc:date</xsl:if>
    </xsl:with-param>
  </xsl:call-template>
</xsl:template>

<xsl:template match="author | managingEditor | dc:creator">
  <xsl:call-template name="person"><xsl:with-param name="role" select="'creator'"/></xsl:call-template>
</xsl:template>
<xsl:template match="dc:contributor">
  <xsl:call-template name="person"><xsl:with-param name="role" select="'contributor'"/></xsl:call-template>
</xsl:template>
<xsl:template match="webMaster | dc:publisher">
  <xsl:call-template name="person"><xsl:with-param name="role" select="'publisher'"/></xsl:call-template>
</xsl:template>

<xsl:template match="generator">
  <admin:generatorAgent rdf:parseType="Resource">
    <xsl:call-template name="plain"><xsl:with-param name="property" select="'foaf:name'"/></xsl:call-template>
  </admin:generatorAgent>
</xsl:template>

<xsl:template match="image[url]">
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="url"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != ''">
    <rss:image>
      <rss:image rdf:about="{$iri}">
        <xsl:apply-templates select="title | link"/>
        <rss:url rdf:resource="{$iri}"/>
      </rss:image>
    </rss:image>
  </xsl:if>
</xsl:template>

<xsl:template match="enclosure">
  <xsl:call-template name="enclosure">
    <xsl:with-param name="address" select="@url"/>
    <xsl:with-param name="type" select="@type"/>
    <xsl:with-param name="length" select="@length"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="comments">
  <xsl:call-template name="resource"><xsl:with-param name="property" select="'schema:discussionUrl'"/></xsl:call-template>
</xsl:template>

<xsl:template match="slash:comments[translate(normalize-space(), '0123456789', '') = '']">
  <xsl:call-template name="typed">
    <xsl:with-param name="property" select="'slash:comments'"/>
    <xsl:with-param name="type" select="'integer'"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="source[@url]">
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="@url"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != ''">
    <dcterms:source>
      <rss:channel rdf:about="{$iri}">
        <xsl:call-template name="literal"><xsl:with-param name="property" select="'rss:title'"/></xsl:call-template>
        <xhv:self rdf:resource="{$iri}"/>
      </rss:channel>
    </dcterms:source>
  </xsl:if>
</xsl:template>

<xsl:template match="atom:link[@href]">
  <xsl:call-template name="related">
    <xsl:with-param name="relation" select="@rel"/>
    <xsl:with-param name="address" select="@href"/>
  </xsl:call-template>
</xsl:template>

<!-- Texts of RSS are plain or escaped HTML, and do not say which: tags decide. -->
<xsl:template name="text-or-markup">
  <xsl:param name="property"/>
  <xsl:choose>
    <xsl:when test="contains(., '&lt;') and contains(substring-after(., '&lt;'), '&gt;')">
      <xsl:call-template name="markup"><xsl:with-param name="property" select="$property"/></xsl:call-template>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="literal"><xsl:with-param name="property" select="$property"/></xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<!-- `mail (name)`, `name <mail>`, a mail address or a name. -->
<xsl:template name="person">
  <xsl:param name="role"/>
  <xsl:variable name="text" select="normalize-space()"/>
  <xsl:variable name="name">
    <xsl:choose>
      <xsl:when test="contains($text, '(')">
        <xsl:value-of select="substring-before(concat(substring-after($text, '('), ')'), ')')"/>
      </xsl:when>
      <xsl:when test="contains($text, '&lt;')"><xsl:value-of select="substring-before($text, '&lt;')"/></xsl:when>
      <xsl:when test="not(contains($text, '@'))"><xsl:value-of select="$text"/></xsl:when>
    </xsl:choose>
  </xsl:variable>
  <xsl:variable name="mail">
    <xsl:choose>
      <xsl:when test="not(contains($text, '@'))"/>
      <xsl:when test="contains($text, '(')"><xsl:value-of select="substring-before($text, '(')"/></xsl:when>
      <xsl:when test="contains($text, '&lt;')">
        <xsl:value-of select="substring-before(concat(substring-after($text, '&lt;'), '&gt;'), '&gt;')"/>
      </xsl:when>
      <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:call-template name="agent">
    <xsl:with-param name="role" select="$role"/>
    <xsl:with-param name="name" select="$name"/>
    <xsl:with-param name="mail" select="$mail"/>
  </xsl:call-template>
</xsl:template>

<!-- A date of RFC 822 (`Sun, 06 Nov 1994 08:49:37 GMT`, and shorter) in ISO 8601; anything else as it is. -->
<xsl:template name="iso-date">
  <xsl:variable name="text" select="normalize-space()"/>
  <xsl:variable name="rest">
    <xsl:choose>
      <xsl:when test="contains($text, ',')"><xsl:value-of select="normalize-space(substring-after($text, ','))"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:variable name="day" select="substring-before($rest, ' ')"/>
  <xsl:variable name="after-day" select="substring-after($rest, ' ')"/>
  <xsl:variable name="month-name" select="translate(substring($after-day, 1, 3),
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"/>
  <xsl:variable name="month" select="string-length(substring-before('jan feb mar apr may jun jul aug sep oct nov dec', $month-name)) div 4 + 1"/>
  <xsl:variable name="after-month" select="substring-after($after-day, ' ')"/>
  <xsl:variable name="year" select="substring-before(concat($after-month, ' '), ' ')"/>
  <xsl:variable name="time" select="substring-before(concat(substring-after($after-month, ' '), ' '), ' ')"/>
  <xsl:variable name="zone" select="substring-after(substring-after($after-month, ' '), ' ')"/>
  <xsl:choose>
    <xsl:when test="contains(' jan feb mar apr may jun jul aug sep oct nov dec ', concat(' ', $month-name, ' ')) and
                    contains(' 0 00 ', concat(' ', translate($day, '123456789', '000000000'), ' ')) and
                    contains(' 00 0000 ', concat(' ', translate($year, '123456789', '000000000'), ' ')) and
                    contains(' 00:00 00:00:00 ', concat(' ', translate($time, '123456789', '000000000'), ' '))">
      <xsl:choose>
        <xsl:when test="$year &lt; 50"><xsl:value-of select="2000 + $year"/></xsl:when>
        <xsl:when test="$year &lt; 100"><xsl:value-of select="1900 + $year"/></xsl:when>
        <xsl:otherwise><xsl:value-of select="$year"/></xsl:otherwise>
      </xsl:choose>
      <xsl:value-of select="concat(format-number($month, '-00'), format-number($day, '-00'), 'T', $time)"/>
      <xsl:if test="string-length($time) = 5">:00</xsl:if>
      <xsl:choose>
        <xsl:when test="$zone = ''"/>
        <xsl:when test="contains(' GMT UT UTC Z ', concat(' ', $zone, ' '))">Z</xsl:when>
        <xsl:when test="contains(' EST CDT ', concat(' ', $zone, ' '))">-05:00</xsl:when>
        <xsl:when test="$zone = 'EDT'">-04:00</xsl:when>
        <xsl:when test="contains(' CST MDT ', concat(' ', $zone, ' '))">-06:00</xsl:when>
        <xsl:when test="contains(' MST PDT ', concat(' ', $zone, ' '))">-07:00</xsl:when>
        <xsl:when test="$zone = 'PST'">-08:00</xsl:when>
        <xsl:when test="translate($zone, '0123456789', '') = '+' or translate($zone, '0123456789', '') = '-'">
          <xsl:value-of select="concat(substring($zone, 1, 3), ':', substring($zone, 4, 2))"/>
        </xsl:when>
        <xsl:otherwise><xsl:value-of select="$zone"/></xsl:otherwise>
      </xsl:choose>
    </xsl:when>
    <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
  </xsl:choose>
</xsl:template>

</xsl:stylesheet>
