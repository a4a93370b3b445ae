<?xml version="1.0" encoding="UTF-8"?>
<!--
  MARCXML (bibliographic records) to Dublin Core terms, BIBO and FOAF. Records are blank nodes unless they have a DOI, an
  electronic location with the resource itself, or a control number, which makes a place in this document; the page has them as
  topics. The punctuation of ISBD at the end of subfields is not data and goes.
-->
<xsl:stylesheet version="1.0"
  xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:schema="http://schema.org/"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#"
  xmlns:bibo="http://purl.org/ontology/bibo/"
  xmlns:marc="http://www.loc.gov/MARC21/slim"
  exclude-result-prefixes="marc">

<xsl:import href="common.xsl"/>

<xsl:template match="/">
  <xsl:variable name="records" select="//marc:record[not(@type) or @type = 'Bibliographic']"/>
  <rdf:RDF>
    <xsl:call-template name="page"/>
    <foaf:Document rdf:about="{$page-url}">
      <xsl:for-each select="$records">
        <foaf:topic><xsl:call-template name="subject"><xsl:with-param name="about" select="'rdf:resource'"/></xsl:call-template></foaf:topic>
      </xsl:for-each>
      <xsl:call-template name="fetched"/>
    </foaf:Document>
    <xsl:apply-templates select="$records"/>
  </rdf:RDF>
</xsl:template>

<xsl:template name="subject">
  <xsl:param name="about" select="'rdf:about'"/>
  <xsl:variable name="doi" select="normalize-space(marc:datafield[@tag = '024'][marc:subfield[@code = '2'] = 'doi']/marc:subfield[@code = 'a'])"/>
  <xsl:variable name="resource" select="normalize-space(marc:datafield[@tag = '856'][@ind2 = '0']/marc:subfield[@code = 'u'])"/>
  <xsl:variable name="number" select="translate(normalize-space(marc:controlfield[@tag = '001']), ' /()', '____')"/>
  <xsl:variable name="iri">
    <xsl:choose>
      <xsl:when test="starts-with($doi, '10.')"><xsl:value-of select="concat('https://doi.org/', $doi)"/></xsl:when>
      <xsl:when test="contains($resource, '://')"><xsl:value-of select="$resource"/></xsl:when>
      <xsl:when test="$number != ''"><xsl:value-of select="concat('#record-', $number)"/></xsl:when>
    </xsl:choose>
  </xsl:variable>
  <xsl:choose>
    <xsl:when test="$iri != ''">
      <xsl:attribute name="{$about}"><xsl:call-template name="iri"><xsl:with-param name="value" select="$iri"/></xsl:call-template></xsl:attribute>
    </xsl:when>
    <xsl:otherwise>
      <xsl:attribute name="rdf:nodeID"><xsl:value-of select="generate-id()"/></xsl:attribute>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="marc:record">
  <!-- Positions 6 and 7 of the leader: the type of the record and its level. -->
  <xsl:variable name="type" select="substring(marc:leader, 7, 1)"/>
  <xsl:variable name="level" select="substring(marc:leader, 8, 1)"/>
  <xsl:variable name="class">
    <xsl:choose>
      <xsl:when test="marc:datafield[@tag = '502']">bibo:Thesis</xsl:when>
      <xsl:when test="$type = 'a' and ($level = 's' or $level = 'i')">bibo:Periodical</xsl:when>
      <xsl:when test="$type = 'a' and ($level = 'a' or $level = 'b')">bibo:Article</xsl:when>
      <xsl:when test="$type = 'a' and $level = 'm'">bibo:Book</xsl:when>
      <xsl:when test="$type = 'e' or $type = 'f'">bibo:Map</xsl:when>
      <xsl:when test="$type = 'i' or $type = 'j'">bibo:AudioDocument</xsl:when>
      <xsl:when test="$type = 'g'">bibo:AudioVisualDocument</xsl:when>
      <xsl:when test="$type = 'k'">bibo:Image</xsl:when>
      <xsl:when test="$type = 't' or $type = 'd'">bibo:Manuscript</xsl:when>
      <xsl:when test="$type = 'p'">bibo:Collection</xsl:when>
      <xsl:otherwise>bibo:Document</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:element name="{$class}">
    <xsl:call-template name="subject"/>
    <xsl:apply-templates select="marc:controlfield | marc:datafield"/>
  </xsl:element>
</xsl:template>

<!-- Fields nobody knows are left out. -->
<xsl:template match="marc:controlfield | marc:datafield" priority="-1"/>

<xsl:template match="marc:controlfield[@tag = '001']">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:identifier'"/></xsl:call-template>
</xsl:template>

<!-- Year and language, unless another field says it better. -->
<xsl:template match="marc:controlfield[@tag = '008']">
  <xsl:variable name="year" select="substring(., 8, 4)"/>
  <xsl:variable name="language" select="substring(., 36, 3)"/>
  <xsl:if test="translate($year, '0123456789', '') = '' and string-length($year) = 4">
    <xsl:call-template name="date">
      <xsl:with-param name="property" select="'dcterms:issued'"/>
      <xsl:with-param name="value" select="$year"/>
    </xsl:call-template>
  </xsl:if>
  <xsl:if test="translate($language, 'abcdefghijklmnopqrstuvwxyz', '') = '' and not(contains(' zxx und mul ', $language)) and string-length($language) = 3">
    <xsl:call-template name="plain">
      <xsl:with-param name="property" select="'dcterms:language'"/>
      <xsl:with-param name="value" select="$language"/>
    </xsl:call-template>
  </xsl:if>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '041']">
  <xsl:variable name="main" select="substring(../marc:controlfield[@tag = '008'], 36, 3)"/>
  <xsl:for-each select="marc:subfield[@code = 'a'][. != $main]">
    <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:language'"/></xsl:call-template>
  </xsl:for-each>
</xsl:template>

<!-- Numbers. -->
<xsl:template match="marc:datafield[@tag = '010']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:lccn'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '020']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:isbn'"/>
    <xsl:with-param name="value" select="translate(substring-before(concat(normalize-space(marc:subfield[@code = 'a']), ' '), ' '), '-:', '')"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '022']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:issn'"/>
    <xsl:with-param name="value" select="substring-before(concat(normalize-space(marc:subfield[@code = 'a']), ' '), ' ')"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '024'][marc:subfield[@code = '2'] = 'doi']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:doi'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '035'][contains(marc:subfield[@code = 'a'], '(OCoLC)')]">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:oclcnum'"/>
    <xsl:with-param name="value" select="translate(substring-after(marc:subfield[@code = 'a'], '(OCoLC)'), 'ocmn', '')"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '082' or @tag = '050']">
  <xsl:if test="normalize-space(marc:subfield[@code = 'a']) != ''">
    <dcterms:subject>
      <skos:Concept>
        <skos:notation><xsl:value-of select="translate(normalize-space(marc:subfield[@code = 'a']), '/', '')"/></skos:notation>
        <dcterms:source>
          <xsl:choose><xsl:when test="@tag = '082'">ddc</xsl:when><xsl:otherwise>lcc</xsl:otherwise></xsl:choose>
        </dcterms:source>
      </skos:Concept>
    </dcterms:subject>
  </xsl:if>
</xsl:template>

<!-- Titles. -->
<xsl:template match="marc:datafield[@tag = '245']">
  <xsl:variable name="title">
    <xsl:call-template name="trimmed"><xsl:with-param name="text" select="marc:subfield[@code = 'a']"/></xsl:call-template>
    <xsl:if test="marc:subfield[@code = 'b']">
      <xsl:text>: </xsl:text>
      <xsl:call-template name="trimmed"><xsl:with-param name="text" select="marc:subfield[@code = 'b']"/></xsl:call-template>
    </xsl:if>
    <xsl:for-each select="marc:subfield[@code = 'n' or @code = 'p']">
      <xsl:text>. </xsl:text>
      <xsl:call-template name="trimmed"/>
    </xsl:for-each>
  </xsl:variable>
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'dcterms:title'"/>
    <xsl:with-param name="value" select="$title"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '130' or @tag = '240' or @tag = '246' or @tag = '247']">
  <xsl:call-template name="trimmed-property">
    <xsl:with-param name="property" select="'dcterms:alternative'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>

<!-- People and bodies. -->
<xsl:template match="marc:datafield[@tag = '100' or @tag = '110' or @tag = '111']">
  <xsl:call-template name="agent"><xsl:with-param name="main" select="true()"/></xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '700' or @tag = '710' or @tag = '711']">
  <!-- With a title in it the field names a work, not somebody. -->
  <xsl:if test="not(marc:subfield[@code = 't'])">
    <xsl:call-template name="agent"><xsl:with-param name="main" select="false()"/></xsl:call-template>
  </xsl:if>
</xsl:template>
<xsl:template name="agent">
  <xsl:param name="main"/>
  <xsl:variable name="role" select="concat(' ', translate(normalize-space((marc:subfield[@code = '4'] | marc:subfield[@code = 'e'])[1]), '.,ABCDEFGHIJKLMNOPQRSTUVWXYZ', '  abcdefghijklmnopqrstuvwxyz'))"/>
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="starts-with($role, ' edt') or starts-with($role, ' editor')">bibo:editor</xsl:when>
      <xsl:when test="starts-with($role, ' trl') or starts-with($role, ' translator')">bibo:translator</xsl:when>
      <xsl:when test="$main or starts-with($role, ' aut') or starts-with($role, ' cre')">dcterms:creator</xsl:when>
      <xsl:otherwise>dcterms:contributor</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:variable name="class">
    <xsl:choose>
      <xsl:when test="substring(@tag, 2) = '00' and @ind1 != '3'">foaf:Person</xsl:when>
      <xsl:when test="substring(@tag, 2) = '11'">bibo:Conference</xsl:when>
      <xsl:otherwise>foaf:Organization</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:element name="{$property}">
    <xsl:element name="{$class}">
      <xsl:if test="starts-with(marc:subfield[@code = '0' or @code = '1'][starts-with(., 'http')], 'http')">
        <xsl:attribute name="rdf:about">
          <xsl:call-template name="iri"><xsl:with-param name="value" select="marc:subfield[@code = '0' or @code = '1'][starts-with(., 'http')]"/></xsl:call-template>
        </xsl:attribute>
      </xsl:if>
      <xsl:call-template name="trimmed-property">
        <xsl:with-param name="property" select="'foaf:name'"/>
        <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
      </xsl:call-template>
      <xsl:if test="$class = 'foaf:Person' and @ind1 = '1' and contains(marc:subfield[@code = 'a'], ', ')">
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'foaf:familyName'"/>
          <xsl:with-param name="value" select="substring-before(marc:subfield[@code = 'a'], ', ')"/>
        </xsl:call-template>
        <xsl:call-template name="trimmed-property">
          <xsl:with-param name="property" select="'foaf:givenName'"/>
          <xsl:with-param name="value" select="substring-after(marc:subfield[@code = 'a'], ', ')"/>
        </xsl:call-template>
      </xsl:if>
    </xsl:element>
  </xsl:element>
</xsl:template>

<!-- How it was published. -->
<xsl:template match="marc:datafield[@tag = '250']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:edition'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '260' or (@tag = '264' and @ind2 = '1')]">
  <xsl:for-each select="marc:subfield[@code = 'a']">
    <xsl:call-template name="trimmed-property"><xsl:with-param name="property" select="'schema:locationCreated'"/></xsl:call-template>
  </xsl:for-each>
  <xsl:for-each select="marc:subfield[@code = 'b']">
    <xsl:call-template name="trimmed-property"><xsl:with-param name="property" select="'dcterms:publisher'"/></xsl:call-template>
  </xsl:for-each>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '300']">
  <xsl:call-template name="trimmed-property">
    <xsl:with-param name="property" select="'dcterms:extent'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>

<!-- What it is a part of. -->
<xsl:template match="marc:datafield[@tag = '490'][not(../marc:datafield[@tag = '830'])] | marc:datafield[@tag = '830']">
  <dcterms:isPartOf>
    <bibo:Series>
      <xsl:call-template name="trimmed-property">
        <xsl:with-param name="property" select="'dcterms:title'"/>
        <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
      </xsl:call-template>
      <xsl:call-template name="trimmed-property">
        <xsl:with-param name="property" select="'bibo:issn'"/>
        <xsl:with-param name="value" select="marc:subfield[@code = 'x']"/>
      </xsl:call-template>
    </bibo:Series>
  </dcterms:isPartOf>
  <xsl:call-template name="trimmed-property">
    <xsl:with-param name="property" select="'bibo:volume'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'v']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '773'][marc:subfield[@code = 't']]">
  <dcterms:isPartOf>
    <bibo:Document>
      <xsl:call-template name="trimmed-property">
        <xsl:with-param name="property" select="'dcterms:title'"/>
        <xsl:with-param name="value" select="marc:subfield[@code = 't']"/>
      </xsl:call-template>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'bibo:issn'"/>
        <xsl:with-param name="value" select="marc:subfield[@code = 'x']"/>
      </xsl:call-template>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'bibo:isbn'"/>
        <xsl:with-param name="value" select="marc:subfield[@code = 'z']"/>
      </xsl:call-template>
    </bibo:Document>
  </dcterms:isPartOf>
</xsl:template>

<!-- Notes. -->
<xsl:template match="marc:datafield[@tag = '500' or @tag = '502' or @tag = '504']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'rdfs:comment'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '505']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'dcterms:tableOfContents'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '520']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'dcterms:abstract'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="marc:datafield[@tag = '506' or @tag = '540']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'dcterms:rights'"/>
    <xsl:with-param name="value" select="marc:subfield[@code = 'a']"/>
  </xsl:call-template>
</xsl:template>

<!-- What it is about: the heading and its subdivisions in one string. -->
<xsl:template match="marc:datafield[starts-with(@tag, '6')][marc:subfield[@code = 'a']]">
  <xsl:variable name="heading">
    <xsl:for-each select="marc:subfield[contains('abcdtvxyz', @code)]">
      <xsl:if test="position() &gt; 1">
        <xsl:choose><xsl:when test="contains('vxyz', @code)"> -- </xsl:when><xsl:otherwise><xsl:text> </xsl:text></xsl:otherwise></xsl:choose>
      </xsl:if>
      <xsl:call-template name="trimmed"/>
    </xsl:for-each>
  </xsl:variable>
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="@tag = '648'">dcterms:temporal</xsl:when>
      <xsl:when test="@tag = '651'">dcterms:spatial</xsl:when>
      <xsl:when test="@tag = '655'">dcterms:type</xsl:when>
      <xsl:otherwise>dcterms:subject</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="string($property)"/>
    <xsl:with-param name="value" select="$heading"/>
  </xsl:call-template>
  <xsl:if test="@tag != '655'">
    <xsl:for-each select="marc:subfield[@code = '0'][starts-with(., 'http')]">
      <xsl:call-template name="resource"><xsl:with-param name="property" select="'dcterms:subject'"/></xsl:call-template>
    </xsl:for-each>
  </xsl:if>
</xsl:template>

<!-- Where it is on the web. -->
<xsl:template match="marc:datafield[@tag = '856']">
  <xsl:for-each select="marc:subfield[@code = 'u']">
    <xsl:call-template name="resource"><xsl:with-param name="property" select="'rdfs:seeAlso'"/></xsl:call-template>
  </xsl:for-each>
</xsl:template>

<xsl:template name="trimmed-property">
  <xsl:param name="property"/>
  <xsl:param name="value" select="."/>
  <xsl:variable name="trimmed"><xsl:call-template name="trimmed"><xsl:with-param name="text" select="$value"/></xsl:call-template></xsl:variable>
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="$property"/>
    <xsl:with-param name="value" select="$trimmed"/>
  </xsl:call-template>
</xsl:template>

<!-- Text without the punctuation of ISBD behind it. A full stop stays after a single letter, for it is an initial. -->
<xsl:template name="trimmed">
  <xsl:param name="text" select="."/>
  <xsl:variable name="clean" select="normalize-space($text)"/>
  <xsl:variable name="length" select="string-length($clean)"/>
  <xsl:variable name="last" select="substring($clean, $length)"/>
  <xsl:choose>
    <xsl:when test="$length &gt; 0 and (contains('/:;,=', $last) or
                    $last = '.' and substring($clean, $length - 2, 1) != ' ' and substring($clean, $length - 2, 1) != '.')">
      <xsl:call-template name="trimmed"><xsl:with-param name="text" select="substring($clean, 1, $length - 1)"/></xsl:call-template>
    </xsl:when>
    <xsl:otherwise><xsl:value-of select="$clean"/></xsl:otherwise>
  </xsl:choose>
</xsl:template>

</xsl:stylesheet>
