<?xml version="1.0" encoding="UTF-8"?>
<!--
  MODS 3 (a record or a collection) to Dublin Core terms, BIBO and FOAF. What is described is named by its URI or DOI; the
  page has it as topic.
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
  xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:mods="http://www.loc.gov/mods/v3"
  xmlns:xlink="http://www.w3.org/1999/xlink"
  exclude-result-prefixes="mods xlink">

<xsl:import href="common.xsl"/>

<xsl:template match="/">
  <rdf:RDF>
    <xsl:call-template name="page"/>
    <foaf:Document rdf:about="{$page-url}">
      <xsl:for-each select="//mods:mods">
        <xsl:choose>
          <xsl:when test="position() = 1 and last() = 1">
            <foaf:primaryTopic><xsl:call-template name="subject"><xsl:with-param name="about" select="'rdf:resource'"/></xsl:call-template></foaf:primaryTopic>
          </xsl:when>
          <xsl:otherwise>
            <foaf:topic><xsl:call-template name="subject"><xsl:with-param name="about" select="'rdf:resource'"/></xsl:call-template></foaf:topic>
          </xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
      <xsl:call-template name="fetched"/>
    </foaf:Document>
    <xsl:apply-templates select="//mods:mods"/>
  </rdf:RDF>
</xsl:template>

<!-- What is described: by its URI, else its DOI, else a place in this document, else a blank node. -->
<xsl:template name="subject">
  <xsl:param name="about" select="'rdf:about'"/>
  <xsl:variable name="uri" select="normalize-space((mods:identifier[@type = 'uri'] | mods:location/mods:url[@usage = 'primary' or @usage = 'primary display'])[1])"/>
  <xsl:variable name="doi" select="normalize-space(mods:identifier[@type = 'doi'][1])"/>
  <xsl:choose>
    <xsl:when test="$uri != ''">
      <xsl:attribute name="{$about}"><xsl:call-template name="iri"><xsl:with-param name="value" select="$uri"/></xsl:call-template></xsl:attribute>
    </xsl:when>
    <xsl:when test="starts-with($doi, '10.')">
      <xsl:attribute name="{$about}"><xsl:call-template name="iri"><xsl:with-param name="value" select="concat('https://doi.org/', $doi)"/></xsl:call-template></xsl:attribute>
    </xsl:when>
    <xsl:when test="@ID">
      <xsl:attribute name="{$about}"><xsl:value-of select="concat('#', @ID)"/></xsl:attribute>
    </xsl:when>
    <xsl:otherwise>
      <xsl:attribute name="rdf:nodeID"><xsl:value-of select="generate-id()"/></xsl:attribute>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<!-- The class, from the genre and the type of resource. -->
<xsl:template name="class">
  <xsl:variable name="genre" select="translate(normalize-space(mods:genre[1]), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"/>
  <xsl:choose>
    <xsl:when test="contains($genre, 'review')">bibo:Article</xsl:when>
    <xsl:when test="contains($genre, 'article')">bibo:AcademicArticle</xsl:when>
    <xsl:when test="contains($genre, 'thesis') or contains($genre, 'dissertation')">bibo:Thesis</xsl:when>
    <xsl:when test="contains($genre, 'proceeding') or contains($genre, 'conference publication')">bibo:Proceedings</xsl:when>
    <xsl:when test="contains($genre, 'chapter')">bibo:Chapter</xsl:when>
    <xsl:when test="contains($genre, 'newspaper')">bibo:Newspaper</xsl:when>
    <xsl:when test="contains($genre, 'periodical') or contains($genre, 'journal')">bibo:Journal</xsl:when>
    <xsl:when test="contains($genre, 'report')">bibo:Report</xsl:when>
    <xsl:when test="contains($genre, 'patent')">bibo:Patent</xsl:when>
    <xsl:when test="contains($genre, 'letter')">bibo:Letter</xsl:when>
    <xsl:when test="contains($genre, 'map') or mods:typeOfResource = 'cartographic'">bibo:Map</xsl:when>
    <xsl:when test="contains($genre, 'book')">bibo:Book</xsl:when>
    <xsl:when test="starts-with(mods:typeOfResource, 'sound recording')">bibo:AudioDocument</xsl:when>
    <xsl:when test="mods:typeOfResource = 'moving image'">bibo:AudioVisualDocument</xsl:when>
    <xsl:when test="mods:typeOfResource = 'still image'">bibo:Image</xsl:when>
    <xsl:when test="mods:originInfo/mods:issuance = 'serial'">bibo:Periodical</xsl:when>
    <xsl:when test="mods:identifier[@type = 'isbn'] or mods:originInfo/mods:issuance = 'monographic'">bibo:Book</xsl:when>
    <xsl:otherwise>bibo:Document</xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="mods:mods">
  <xsl:variable name="class"><xsl:call-template name="class"/></xsl:variable>
  <xsl:element name="{$class}">
    <xsl:call-template name="subject"/>
    <xsl:apply-templates select="*"/>
  </xsl:element>
</xsl:template>

<!-- What nobody knows is left out. -->
<xsl:template match="*"/>

<xsl:template match="mods:titleInfo">
  <xsl:variable name="title">
    <xsl:value-of select="concat(mods:nonSort, ' ', mods:title)"/>
    <xsl:if test="normalize-space(mods:subTitle) != ''"><xsl:value-of select="concat(': ', mods:subTitle)"/></xsl:if>
    <xsl:for-each select="mods:partNumber | mods:partName">
      <xsl:value-of select="concat('. ', normalize-space())"/>
    </xsl:for-each>
  </xsl:variable>
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="@type = 'abbreviated'">bibo:shortTitle</xsl:when>
      <xsl:when test="@type">dcterms:alternative</xsl:when>
      <xsl:otherwise>dcterms:title</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:call-template name="literal">
    <xsl:with-param name="property" select="string($property)"/>
    <xsl:with-param name="value" select="$title"/>
  </xsl:call-template>
</xsl:template>

<xsl:template match="mods:name">
  <xsl:variable name="role" select="concat(' ', translate(normalize-space(mods:role[1]/mods:roleTerm[1]), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), ' ')"/>
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="contains(' aut cre author creator ', $role) or $role = '  '">dcterms:creator</xsl:when>
      <xsl:when test="contains(' edt editor ', $role)">bibo:editor</xsl:when>
      <xsl:when test="contains(' trl translator ', $role)">bibo:translator</xsl:when>
      <xsl:when test="contains(' pbl publisher ', $role)">dcterms:publisher</xsl:when>
      <xsl:otherwise>dcterms:contributor</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:variable name="name"><xsl:apply-templates select="." mode="name"/></xsl:variable>
  <xsl:if test="normalize-space($name) != ''">
    <xsl:element name="{$property}">
      <xsl:variable name="class">
        <xsl:choose>
          <xsl:when test="@type = 'personal'">foaf:Person</xsl:when>
          <xsl:when test="@type = 'corporate'">foaf:Organization</xsl:when>
          <xsl:when test="@type = 'conference'">bibo:Conference</xsl:when>
          <xsl:otherwise>foaf:Agent</xsl:otherwise>
        </xsl:choose>
      </xsl:variable>
      <xsl:element name="{$class}">
        <xsl:if test="starts-with(@valueURI, 'http')">
          <xsl:attribute name="rdf:about"><xsl:call-template name="iri"><xsl:with-param name="value" select="@valueURI"/></xsl:call-template></xsl:attribute>
        </xsl:if>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'foaf:name'"/>
          <xsl:with-param name="value" select="$name"/>
        </xsl:call-template>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'foaf:familyName'"/>
          <xsl:with-param name="value" select="mods:namePart[@type = 'family']"/>
        </xsl:call-template>
        <xsl:call-template name="plain">
          <xsl:with-param name="property" select="'foaf:givenName'"/>
          <xsl:with-param name="value" select="mods:namePart[@type = 'given']"/>
        </xsl:call-template>
        <xsl:for-each select="mods:affiliation">
          <xsl:call-template name="plain"><xsl:with-param name="property" select="'schema:affiliation'"/></xsl:call-template>
        </xsl:for-each>
        <xsl:for-each select="mods:nameIdentifier[@type = 'orcid']">
          <xsl:call-template name="resource">
            <xsl:with-param name="property" select="'owl:sameAs'"/>
            <xsl:with-param name="value" select="concat('https://orcid.org/', substring(normalize-space(), string-length(normalize-space()) - 18))"/>
          </xsl:call-template>
        </xsl:for-each>
      </xsl:element>
    </xsl:element>
  </xsl:if>
</xsl:template>

<!-- A name as people read it: given name first, else as it was catalogued, without the dates. -->
<xsl:template match="mods:name" mode="name">
  <xsl:choose>
    <xsl:when test="mods:displayForm"><xsl:value-of select="normalize-space(mods:displayForm)"/></xsl:when>
    <xsl:when test="mods:namePart[@type = 'family']">
      <xsl:value-of select="normalize-space(concat(mods:namePart[@type = 'given'], ' ', mods:namePart[@type = 'family']))"/>
    </xsl:when>
    <xsl:otherwise>
      <xsl:for-each select="mods:namePart[not(@type = 'date')]">
        <xsl:if test="position() &gt; 1"><xsl:text>. </xsl:text></xsl:if>
        <xsl:value-of select="normalize-space()"/>
      </xsl:for-each>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="mods:originInfo | mods:physicalDescription | mods:part | mods:location"><xsl:apply-templates select="*"/></xsl:template>
<xsl:template match="mods:publisher">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:publisher'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:edition">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'bibo:edition'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:dateIssued">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:issued'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:dateCreated">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:created'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:copyrightDate">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:dateCopyrighted'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:dateModified">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:modified'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:dateValid">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:valid'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:extent">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:extent'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:internetMediaType">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:format'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:abstract">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:abstract'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:tableOfContents">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:tableOfContents'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:note">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'rdfs:comment'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:genre">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:type'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'dcterms:identifier'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@type = 'doi']">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'bibo:doi'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@type = 'isbn']">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'bibo:isbn'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@type = 'issn']">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'bibo:issn'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@type = 'lccn']">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'bibo:lccn'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@type = 'oclc']">
  <xsl:call-template name="plain"><xsl:with-param name="property" select="'bibo:oclcnum'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@type = 'uri']">
  <xsl:call-template name="resource"><xsl:with-param name="property" select="'rdfs:seeAlso'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:location/mods:url">
  <xsl:call-template name="resource"><xsl:with-param name="property" select="'rdfs:seeAlso'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:accessCondition">
  <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:rights'"/></xsl:call-template>
</xsl:template>
<xsl:template match="mods:identifier[@invalid = 'yes']" priority="2"/>
<xsl:template match="mods:accessCondition[@xlink:href]">
  <xsl:call-template name="resource">
    <xsl:with-param name="property" select="'dcterms:license'"/>
    <xsl:with-param name="value" select="@xlink:href"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="mods:place[mods:placeTerm[not(@type = 'code')]]">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'schema:locationCreated'"/>
    <xsl:with-param name="value" select="mods:placeTerm[not(@type = 'code')]"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="mods:language">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'dcterms:language'"/>
    <xsl:with-param name="value" select="(mods:languageTerm[@type = 'code'] | mods:languageTerm[not(../mods:languageTerm[@type = 'code'])])[1]"/>
  </xsl:call-template>
</xsl:template>

<!-- A subject is one string of its parts; places and times are so besides, and what has an address is linked. -->
<xsl:template match="mods:subject">
  <xsl:variable name="text">
    <xsl:for-each select="mods:topic | mods:geographic | mods:temporal | mods:genre | mods:occupation | mods:name | mods:titleInfo | mods:hierarchicalGeographic/*">
      <xsl:if test="position() &gt; 1"> -- </xsl:if>
      <xsl:choose>
        <xsl:when test="self::mods:name"><xsl:apply-templates select="." mode="name"/></xsl:when>
        <xsl:otherwise><xsl:value-of select="normalize-space()"/></xsl:otherwise>
      </xsl:choose>
    </xsl:for-each>
  </xsl:variable>
  <xsl:call-template name="literal">
    <xsl:with-param name="property" select="'dcterms:subject'"/>
    <xsl:with-param name="value" select="$text"/>
  </xsl:call-template>
  <xsl:for-each select="(@valueURI | */@valueURI)[starts-with(., 'http')]">
    <xsl:call-template name="resource"><xsl:with-param name="property" select="'dcterms:subject'"/></xsl:call-template>
  </xsl:for-each>
  <xsl:for-each select="mods:geographic | mods:hierarchicalGeographic/*[last()] | mods:cartographics/mods:coordinates">
    <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:spatial'"/></xsl:call-template>
  </xsl:for-each>
  <xsl:for-each select="mods:temporal">
    <xsl:call-template name="literal"><xsl:with-param name="property" select="'dcterms:temporal'"/></xsl:call-template>
  </xsl:for-each>
</xsl:template>

<xsl:template match="mods:classification[normalize-space() != '']">
  <dcterms:subject>
    <skos:Concept>
      <xsl:call-template name="plain"><xsl:with-param name="property" select="'skos:notation'"/></xsl:call-template>
      <xsl:call-template name="plain">
        <xsl:with-param name="property" select="'dcterms:source'"/>
        <xsl:with-param name="value" select="@authority"/>
      </xsl:call-template>
    </skos:Concept>
  </dcterms:subject>
</xsl:template>

<!-- What this is a part of, or a version of. -->
<xsl:template match="mods:relatedItem">
  <xsl:variable name="property">
    <xsl:choose>
      <xsl:when test="@type = 'host' or @type = 'series'">dcterms:isPartOf</xsl:when>
      <xsl:when test="@type = 'constituent'">dcterms:hasPart</xsl:when>
      <xsl:when test="@type = 'original' or @type = 'otherVersion'">dcterms:isVersionOf</xsl:when>
      <xsl:when test="@type = 'otherFormat'">dcterms:hasFormat</xsl:when>
      <xsl:when test="@type = 'preceding'">dcterms:replaces</xsl:when>
      <xsl:when test="@type = 'succeeding'">dcterms:isReplacedBy</xsl:when>
      <xsl:when test="@type = 'isReferencedBy'">dcterms:isReferencedBy</xsl:when>
      <xsl:when test="@type = 'references'">dcterms:references</xsl:when>
      <xsl:otherwise>dcterms:relation</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:variable name="class">
    <xsl:choose>
      <xsl:when test="@type = 'series'">bibo:Series</xsl:when>
      <xsl:when test="@type = 'host' and mods:identifier[@type = 'issn'] and not(mods:genre)">bibo:Journal</xsl:when>
      <xsl:otherwise><xsl:call-template name="class"/></xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:if test="mods:titleInfo or mods:identifier">
    <xsl:element name="{$property}">
      <xsl:element name="{$class}">
        <xsl:if test="mods:identifier[@type = 'uri' or @type = 'doi']"><xsl:call-template name="subject"/></xsl:if>
        <xsl:apply-templates select="*[not(self::mods:part)]"/>
      </xsl:element>
    </xsl:element>
  </xsl:if>
  <!-- Volume, issue and pages are where this is found in the other. -->
  <xsl:apply-templates select="mods:part"/>
</xsl:template>

<xsl:template match="mods:detail[@type = 'volume']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:volume'"/>
    <xsl:with-param name="value" select="mods:number"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="mods:detail[@type = 'issue' or @type = 'number']">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:issue'"/>
    <xsl:with-param name="value" select="mods:number"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="mods:part/mods:extent" priority="1">
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:pageStart'"/>
    <xsl:with-param name="value" select="mods:start"/>
  </xsl:call-template>
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:pageEnd'"/>
    <xsl:with-param name="value" select="mods:end"/>
  </xsl:call-template>
  <xsl:call-template name="plain">
    <xsl:with-param name="property" select="'bibo:pages'"/>
    <xsl:with-param name="value" select="mods:list"/>
  </xsl:call-template>
</xsl:template>
<xsl:template match="mods:part/mods:date">
  <xsl:call-template name="date"><xsl:with-param name="property" select="'dcterms:date'"/></xsl:call-template>
</xsl:template>

</xsl:stylesheet>
