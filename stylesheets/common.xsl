<?xml version="1.0" encoding="UTF-8"?>
<!--
  What the stylesheets of this folder have in common: the two parameters, and templates that write one
  property each, or nothing when there is nothing to say. Import it, and call

    literal     a text, with its language
    plain       a name or a code, in no language
    typed       a text of a given datatype
    decimal     a number
    date        a date in ISO 8601, with the datatype that fits how much of it there is
    markup      a text of HTML
    resource    an IRI
    iri         gives the IRI as text: trimmed, and with what no IRI may contain written in percent signs
    page        inside of rdf:RDF: makes the page the base of relative references
    fetched     inside of the page's description: when it was fetched

  Properties are named by QName with one of the prefixes that are declared here.
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
  xmlns:slash="http://purl.org/rss/1.0/modules/slash/"
  xmlns:iana="http://www.iana.org/assignments/relation/"
  xmlns:wfw="http://wellformedweb.org/CommentAPI/"
  xmlns:admin="http://webns.net/mvcb/"
  xmlns:schema="http://schema.org/"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:bibo="http://purl.org/ontology/bibo/"
  xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"
  xmlns:prov="http://www.w3.org/ns/prov#"
  xmlns:xhv="http://www.w3.org/1999/xhtml/vocab#"
  xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:wl="urn:webloom:ns#"
  xmlns:date="http://exslt.org/dates-and-times"
  exclude-result-prefixes="date rdfs dc dcterms foaf rss content slash iana wfw admin schema skos bibo geo prov xhv owl wl">

<!-- The address the document was fetched from. Without it relative references stay relative. -->
<xsl:param name="page-url"/>
<!-- When it was fetched, an xsd:dateTime. -->
<xsl:param name="fetch-time"/>

<xsl:variable name="xsd" select="'http://www.w3.org/2001/XMLSchema#'"/>

<xsl:output method="xml" encoding="UTF-8" indent="yes"/>

<!-- Text outside of any template is never part of the result. -->
<xsl:template match="text()"/>
<xsl:template match="text() | @*" mode="value"><xsl:value-of select="."/></xsl:template>

<!-- For rdf:RDF: the base of relative references, which is the page unless the document says otherwise. -->
<xsl:template name="page">
  <xsl:param name="base"/>
  <xsl:choose>
    <xsl:when test="contains($base, '://')">
      <xsl:attribute name="xml:base"><xsl:value-of select="normalize-space($base)"/></xsl:attribute>
    </xsl:when>
    <xsl:when test="$page-url != ''">
      <xsl:attribute name="xml:base"><xsl:value-of select="$page-url"/></xsl:attribute>
    </xsl:when>
  </xsl:choose>
</xsl:template>

<!-- For the description of the page: when this was known. -->
<xsl:template name="fetched">
  <xsl:call-template name="typed">
    <xsl:with-param name="property" select="'prov:generatedAtTime'"/>
    <xsl:with-param name="value" select="$fetch-time"/>
    <xsl:with-param name="type" select="'dateTime'"/>
  </xsl:call-template>
</xsl:template>

<!-- A text, with the language that holds for `node`. -->
<xsl:template name="literal">
  <xsl:param name="property"/>
  <xsl:param name="node" select="."/>
  <xsl:param name="value" select="$node"/>
  <xsl:param name="language" select="$node/ancestor-or-self::*[@xml:lang][1]/@xml:lang"/>
  <xsl:variable name="text" select="normalize-space($value)"/>
  <xsl:if test="$text != ''">
    <xsl:element name="{$property}">
      <xsl:if test="string($language) != ''">
        <xsl:attribute name="xml:lang"><xsl:value-of select="$language"/></xsl:attribute>
      </xsl:if>
      <xsl:value-of select="$text"/>
    </xsl:element>
  </xsl:if>
</xsl:template>

<!-- A name, a code, a number: a text in no language. -->
<xsl:template name="plain">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:if test="normalize-space($value) != ''">
    <xsl:element name="{$property}"><xsl:value-of select="normalize-space($value)"/></xsl:element>
  </xsl:if>
</xsl:template>

<!-- A value of a datatype of XML Schema, by its local name. -->
<xsl:template name="typed">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:param name="type"/>
  <xsl:variable name="text" select="normalize-space($value)"/>
  <xsl:if test="$text != ''">
    <xsl:element name="{$property}">
      <xsl:attribute name="rdf:datatype"><xsl:value-of select="concat($xsd, $type)"/></xsl:attribute>
      <xsl:value-of select="$text"/>
    </xsl:element>
  </xsl:if>
</xsl:template>

<!-- A number; what is none is left out. -->
<xsl:template name="decimal">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:variable name="text" select="normalize-space($value)"/>
  <xsl:if test="number($text) = number($text) and translate($text, '0123456789.-', '') = ''">
    <xsl:call-template name="typed">
      <xsl:with-param name="property" select="$property"/>
      <xsl:with-param name="value" select="$text"/>
      <xsl:with-param name="type" select="'decimal'"/>
    </xsl:call-template>
  </xsl:if>
</xsl:template>

<!-- A date. The shape decides the datatype; what has another shape stays text. Moments are written in UTC. With `also`,
     the same is said by a second property. -->
<xsl:template name="date">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:param name="also"/>
  <xsl:variable name="text" select="normalize-space($value)"/>
  <xsl:variable name="shape" select="translate($text, '123456789z', '000000000Z')"/>
  <!-- What comes after the seconds: fractions, and Z, an offset or nothing. -->
  <xsl:variable name="rest" select="translate(substring($shape, 20), '0', '')"/>
  <xsl:variable name="type">
    <xsl:choose>
      <xsl:when test="substring($shape, 1, 19) = '0000-00-00T00:00:00' and
                      contains(' . Z .Z +: -: .+: .-:  ', concat(' ', $rest, ' '))">dateTime</xsl:when>
      <xsl:when test="$shape = '0000-00-00'">date</xsl:when>
      <xsl:when test="$shape = '0000-00-00T00:00Z'">dateTime</xsl:when>
      <xsl:when test="$shape = '0000'">gYear</xsl:when>
      <xsl:when test="$shape = '0000-00'">gYearMonth</xsl:when>
    </xsl:choose>
  </xsl:variable>
  <xsl:variable name="written">
    <xsl:choose>
      <xsl:when test="$type = 'dateTime' and contains($rest, ':') and function-available('date:add')">
        <xsl:variable name="length" select="string-length($text)"/>
        <xsl:variable name="offset" select="concat('PT', substring($text, $length - 4, 2), 'H', substring($text, $length - 1), 'M')"/>
        <xsl:variable name="sign" select="translate(substring($text, $length - 5, 1), '+-', '-')"/>
        <xsl:value-of select="date:add(concat(substring($text, 1, $length - 6), 'Z'), concat($sign, $offset))"/>
      </xsl:when>
      <xsl:when test="$shape = '0000-00-00T00:00Z'"><xsl:value-of select="concat(substring($text, 1, 16), ':00Z')"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="translate($text, 'z', 'Z')"/></xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:choose>
    <xsl:when test="$type != ''">
      <xsl:call-template name="typed">
        <xsl:with-param name="property" select="$property"/>
        <xsl:with-param name="value" select="$written"/>
        <xsl:with-param name="type" select="$type"/>
      </xsl:call-template>
      <xsl:if test="$also != ''">
        <xsl:call-template name="typed">
          <xsl:with-param name="property" select="$also"/>
          <xsl:with-param name="value" select="$written"/>
          <xsl:with-param name="type" select="$type"/>
        </xsl:call-template>
      </xsl:if>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="$property"/>
        <xsl:with-param name="value" select="$text"/>
      </xsl:call-template>
      <xsl:if test="$also != ''">
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="$also"/>
          <xsl:with-param name="value" select="$text"/>
        </xsl:call-template>
      </xsl:if>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<!-- A text with markup in it. -->
<xsl:template name="markup">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:if test="normalize-space($value) != ''">
    <xsl:element name="{$property}">
      <xsl:attribute name="rdf:datatype">http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML</xsl:attribute>
      <xsl:value-of select="$value"/>
    </xsl:element>
  </xsl:if>
</xsl:template>

<!-- A reference to something with an address. -->
<xsl:template name="resource">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="$value"/></xsl:call-template>
  </xsl:variable>
  <xsl:if test="$iri != ''">
    <xsl:element name="{$property}">
      <xsl:attribute name="rdf:resource"><xsl:value-of select="$iri"/></xsl:attribute>
    </xsl:element>
  </xsl:if>
</xsl:template>

<!-- An IRI reference as text, or nothing: scripts and data in the address are no references. -->
<xsl:template name="iri">
  <xsl:param name="value" select="."/>
  <xsl:variable name="text" select="normalize-space($value)"/>
  <xsl:variable name="scheme" select="translate(substring-before($text, ':'),
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"/>
  <xsl:if test="$scheme != 'javascript' and $scheme != 'data' and $scheme != 'vbscript' and $scheme != 'about'">
    <xsl:choose>
      <!-- Nearly every address is fit to be one. -->
      <xsl:when test="translate($text, $forbidden, '') = $text"><xsl:value-of select="$text"/></xsl:when>
      <xsl:otherwise>
        <xsl:call-template name="escaped"><xsl:with-param name="text" select="$text"/></xsl:call-template>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:if>
</xsl:template>

<!-- Text with the marks that no IRI may contain in percent signs. -->
<xsl:template name="escaped">
  <xsl:param name="text"/>
  <xsl:variable name="first" select="substring(translate($text, translate($text, $forbidden, ''), ''), 1, 1)"/>
  <xsl:choose>
    <xsl:when test="$first = ''"><xsl:value-of select="$text"/></xsl:when>
    <xsl:otherwise>
      <xsl:value-of select="concat(substring-before($text, $first), '%',
        substring('20223C3E5C5E607B7C7D', 2 * string-length(substring-before($forbidden, $first)) + 1, 2))"/>
      <xsl:call-template name="escaped">
        <xsl:with-param name="text" select="substring-after($text, $first)"/>
      </xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>
<xsl:variable name="forbidden"> "&lt;&gt;\^`{|}</xsl:variable>

</xsl:stylesheet>
