<?xml version="1.0" encoding="UTF-8"?>
<!--
  What the stylesheets for RSS and Atom have in common: agents, enclosures, subjects and the list of items.
  The vocabulary is that of docs/feeds.md.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:rss="http://purl.org/rss/1.0/"
  xmlns:schema="http://schema.org/"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  exclude-result-prefixes="rdfs dc dcterms foaf rss schema skos">

<xsl:import href="common.xsl"/>

<!-- Link relations that XHTML's vocabulary names, XHTML's own and common ones. -->
<xsl:variable name="xhtml-relations" select="' about alternate appendix archives author bookmark canonical chapter cite collection contents copyright current describedby edit edit-media enclosure first glossary help hub icon index item last license next next-archive payment prev prev-archive previous preview privacy-policy profile related replies search section self service start subsection tag terms-of-service top up via '"/>

<!-- The attribute that names the subject of an item. Templates of mode `subject` give its IRI, or nothing. -->
<xsl:template name="subject">
  <xsl:param name="about" select="'rdf:about'"/>
  <xsl:variable name="iri"><xsl:apply-templates select="." mode="subject"/></xsl:variable>
  <xsl:choose>
    <xsl:when test="$iri != ''">
      <xsl:attribute name="{$about}"><xsl:value-of select="$iri"/></xsl:attribute>
    </xsl:when>
    <xsl:otherwise>
      <xsl:attribute name="rdf:nodeID"><xsl:value-of select="generate-id()"/></xsl:attribute>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template name="items">
  <xsl:param name="items"/>
  <xsl:if test="$items">
    <rss:items>
      <rdf:Seq>
        <xsl:for-each select="$items">
          <rdf:li>
            <xsl:call-template name="subject"><xsl:with-param name="about" select="'rdf:resource'"/></xsl:call-template>
          </rdf:li>
        </xsl:for-each>
      </rdf:Seq>
    </rss:items>
  </xsl:if>
</xsl:template>

<!-- Somebody, as a name and as an agent. `role` is creator, contributor or publisher. -->
<xsl:template name="agent">
  <xsl:param name="role"/>
  <xsl:param name="name"/>
  <xsl:param name="mail"/>
  <xsl:param name="homepage"/>
  <xsl:variable name="shown">
    <xsl:choose>
      <xsl:when test="normalize-space($name) != ''"><xsl:value-of select="normalize-space($name)"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="normalize-space($mail)"/></xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:if test="$shown != ''">
    <xsl:element name="dc:{$role}"><xsl:value-of select="$shown"/></xsl:element>
    <xsl:element name="dcterms:{$role}">
      <foaf:Agent>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'foaf:name'"/>
          <xsl:with-param name="value" select="$name"/>
        </xsl:call-template>
        <xsl:if test="normalize-space($mail) != ''">
          <xsl:call-template name="resource">
            <xsl:with-param name="property" select="'foaf:mbox'"/>
            <xsl:with-param name="value" select="concat('mailto:', normalize-space($mail))"/>
          </xsl:call-template>
        </xsl:if>
        <xsl:call-template name="resource">
          <xsl:with-param name="property" select="'foaf:homepage'"/>
          <xsl:with-param name="value" select="$homepage"/>
        </xsl:call-template>
      </foaf:Agent>
    </xsl:element>
  </xsl:if>
</xsl:template>

<!-- A category: a word, and a concept where there is more to say. -->
<xsl:template name="category">
  <xsl:param name="term"/>
  <xsl:param name="scheme"/>
  <xsl:param name="label"/>
  <xsl:if test="normalize-space($term) != ''">
    <dc:subject><xsl:value-of select="normalize-space($term)"/></dc:subject>
    <xsl:if test="normalize-space($scheme) != '' or normalize-space($label) != ''">
      <dcterms:subject>
        <skos:Concept>
          <skos:notation><xsl:value-of select="normalize-space($term)"/></skos:notation>
          <xsl:call-template name="plain">
            <xsl:with-param name="property" select="'skos:prefLabel'"/>
            <xsl:with-param name="value" select="$label"/>
          </xsl:call-template>
          <xsl:if test="contains($scheme, ':')">
            <xsl:call-template name="resource">
              <xsl:with-param name="property" select="'skos:inScheme'"/>
              <xsl:with-param name="value" select="$scheme"/>
            </xsl:call-template>
          </xsl:if>
        </skos:Concept>
      </dcterms:subject>
    </xsl:if>
  </xsl:if>
</xsl:template>

<!-- Something to hear, see or keep. -->
<xsl:template name="enclosure">
  <xsl:param name="address"/>
  <xsl:param name="type"/>
  <xsl:param name="length"/>
  <xsl:param name="title"/>
  <xsl:variable name="iri">
    <xsl:call-template name="iri"><xsl:with-param name="value" select="$address"/></xsl:call-template>
  </xsl:variable>
  <xsl:variable name="class">
    <xsl:choose>
      <xsl:when test="starts-with($type, 'audio/')">AudioObject</xsl:when>
      <xsl:when test="starts-with($type, 'video/')">VideoObject</xsl:when>
      <xsl:when test="starts-with($type, 'image/')">ImageObject</xsl:when>
      <xsl:otherwise>MediaObject</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:if test="$iri != ''">
    <schema:associatedMedia>
      <xsl:element name="schema:{$class}">
        <xsl:attribute name="rdf:about"><xsl:value-of select="$iri"/></xsl:attribute>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'schema:encodingFormat'"/>
          <xsl:with-param name="value" select="$type"/>
        </xsl:call-template>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'schema:contentSize'"/>
          <xsl:with-param name="value" select="$length"/>
        </xsl:call-template>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'schema:name'"/>
          <xsl:with-param name="value" select="$title"/>
        </xsl:call-template>
      </xsl:element>
    </schema:associatedMedia>
  </xsl:if>
</xsl:template>

<!-- A link whose relation is one of the registered words, or an IRI of its own, which no QName can be made of. -->
<xsl:template name="related">
  <xsl:param name="relation"/>
  <xsl:param name="address"/>
  <xsl:variable name="word" select="normalize-space($relation)"/>
  <xsl:choose>
    <xsl:when test="contains($xhtml-relations, concat(' ', $word, ' ')) and $word != ''">
      <xsl:call-template name="resource">
        <xsl:with-param name="property" select="concat('xhv:', $word)"/>
        <xsl:with-param name="value" select="$address"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:when test="$word != '' and translate($word, 'abcdefghijklmnopqrstuvwxyz-', '') = '' and not(starts-with($word, '-'))">
      <xsl:call-template name="resource">
        <xsl:with-param name="property" select="concat('iana:', $word)"/>
        <xsl:with-param name="value" select="$address"/>
      </xsl:call-template>
    </xsl:when>
  </xsl:choose>
</xsl:template>

</xsl:stylesheet>
