// The SPARQL editor: CodeMirror with our own tokenizer and completions. It lives in a shadow root, because there its style sheets are
// constructed ones, which the content security policy allows; in the document it would need <style> elements, which it does not.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type Completion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Vocabulary } from "../../api/types.ts";
import { prefixes } from "../../names.ts";
import { propose } from "../../sparql/complete.ts";
import { type LineState, nextToken, type TokenKind } from "../../sparql/tokenizer.ts";

const styleOf: Record<TokenKind, string | null> = {
  keyword: "keyword",
  function: "variableName.function",
  variable: "variableName",
  iri: "link",
  prefixed: "name",
  blank: "name",
  string: "string",
  number: "number",
  boolean: "bool",
  language: "meta",
  comment: "comment",
  operator: "operator",
  punctuation: "punctuation",
  unknown: null,
};

const sparql = StreamLanguage.define<{ long: LineState }>({
  name: "sparql",
  startState: () => ({ long: null }),
  copyState: (state) => ({ long: state.long }),
  token(stream, state) {
    const next = nextToken(stream.string, stream.pos, state.long);
    if (!next) {
      stream.skipToEnd();
      return null;
    }
    if (next.token.from > stream.pos) {
      // Blanks first, as a token without a style.
      stream.pos = next.token.from;
      return null;
    }
    stream.pos = next.token.to;
    state.long = next.state;
    return styleOf[next.token.kind];
  },
  languageData: {
    commentTokens: { line: "#" },
    closeBrackets: { brackets: ["(", "[", "{", '"', "'"] },
  },
});

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, class: "sparql-keyword" },
  { tag: tags.function(tags.variableName), class: "sparql-function" },
  { tag: tags.variableName, class: "sparql-variable" },
  { tag: tags.link, class: "sparql-iri" },
  { tag: tags.name, class: "sparql-name" },
  { tag: tags.string, class: "sparql-string" },
  { tag: [tags.number, tags.bool], class: "sparql-number" },
  { tag: tags.meta, class: "sparql-language" },
  { tag: tags.comment, class: "sparql-comment" },
]);

/** Colours come from the page's own properties, which a shadow root inherits: so both themes work without a second editor theme. */
const looks = EditorView.theme({
  "&": { fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)" },
  // The ring of focus is drawn around the host, where nothing covers it.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "160px", maxHeight: "46vh" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--text) 4%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 24%, transparent)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent)",
    outline: "none",
  },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    overflow: "hidden",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "15em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", color: "var(--text)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { marginLeft: "1em", fontStyle: "normal", opacity: "0.75" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".sparql-keyword": { color: "var(--code-keyword)", fontWeight: "600" },
  ".sparql-function": { color: "var(--code-keyword)" },
  ".sparql-variable": { color: "var(--code-variable)" },
  ".sparql-iri": { color: "var(--code-iri)" },
  ".sparql-name": { color: "var(--code-iri)" },
  ".sparql-string": { color: "var(--code-string)" },
  ".sparql-number": { color: "var(--code-number)" },
  ".sparql-language": { color: "var(--muted)" },
  ".sparql-comment": { color: "var(--muted)", fontStyle: "italic" },
});

/**
 * Typing over a selection. Left to itself, Chromium keeps the look of the replaced text by writing a style attribute, which the content
 * security policy refuses with a complaint; so the change is made here, through the same handlers.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    const text = event.data;
    if (event.inputType !== "insertText" || !text || main.empty || view.composing || view.state.readOnly) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const handled = view.state
      .facet(EditorView.inputHandler)
      .some((handler) => handler(view, main.from, main.to, text, insert));
    if (!handled) view.dispatch(insert());
    return true;
  },
});

const completionTypes = {
  keyword: "keyword",
  function: "variableName.function",
  variable: "variable",
  prefix: "namespace",
  predicate: "property",
  class: "class",
} as const;

/** A text given from outside. A new object replaces what the editor holds. */
export interface GivenText {
  text: string;
}

/** The editor. `given` is its beginning and what comes from outside later (examples, the address); while one types, the editor leads. */
export function Editor(props: {
  given: GivenText;
  vocabulary: Vocabulary | null;
  onChange: (text: string) => void;
  onRun: () => void;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const current = useRef(props);
  current.current = props;

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const complete = (context: CompletionContext): CompletionResult | null => {
      const text = context.state.doc.toString();
      const found = propose(text, context.pos, current.current.vocabulary, prefixes.value, context.explicit);
      if (!found) return null;
      return {
        from: found.from,
        validFor: /^[\p{L}\p{N}_:?$.-]*$/u,
        options: found.proposals.map((proposal): Completion => ({
          label: proposal.label,
          type: completionTypes[proposal.kind],
          ...(proposal.detail === "" ? {} : { detail: proposal.detail }),
          boost: proposal.boost,
          apply(editor, completion, from, to) {
            const { needs } = proposal;
            const declare = needs ? `PREFIX ${needs.prefix}: <${needs.namespace}>\n` : "";
            const changes = [{ from, to, insert: completion.label }];
            if (declare !== "") changes.unshift({ from: 0, to: 0, insert: declare });
            editor.dispatch({
              changes,
              selection: { anchor: declare.length + from + completion.label.length },
              userEvent: "input.complete",
            });
          },
        })),
      };
    };
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: current.current.given.text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          indentUnit.of("  "),
          EditorView.lineWrapping,
          sparql,
          syntaxHighlighting(highlighting),
          autocompletion({ override: [complete], icons: false, maxRenderedOptions: 60 }),
          placeholder("SELECT ?thing ?name WHERE { … }"),
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: () => {
                  current.current.onRun();
                  return true;
                },
              },
            ]),
          ),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          looks,
          typeOverSelection,
          EditorView.contentAttributes.of({ "aria-label": "SPARQL query", spellcheck: "false" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) current.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== props.given.text) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.given.text } });
    }
  }, [props.given]);

  return <div class="editor" ref={host} />;
}
