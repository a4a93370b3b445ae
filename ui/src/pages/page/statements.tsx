// The statements of a page, in the order the server gives them; by syntax, and with a box to find words in them.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { PageAnswer, PageStatement } from "../../api/types.ts";
import { Chip, Empty, Pager, TableFrame } from "../../components/basics.tsx";
import { Predicate, TermView } from "../../components/terms.tsx";
import { formatCount, plural } from "../../format.ts";

const shownAtOnce = 100;

/** True when the statement contains the words somewhere. */
export function statementMatches(statement: PageStatement, words: string): boolean {
  const wanted = words.trim().toLowerCase();
  if (wanted === "") return true;
  return [statement.subject.value, statement.predicate, statement.object.value].some((text) =>
    text.toLowerCase().includes(wanted),
  );
}

/** The table with its filters. */
export function PageStatements(props: { page: PageAnswer }): JSX.Element {
  const { page } = props;
  const [syntax, setSyntax] = useState("");
  const [words, setWords] = useState("");
  const [offset, setOffset] = useState(0);
  const known = [...new Set(page.statements.map((statement) => statement.syntax).filter((name) => name !== null))];
  const matching = page.statements.filter(
    (statement) => (syntax === "" || statement.syntax === syntax) && statementMatches(statement, words),
  );
  const shown = matching.slice(offset, offset + shownAtOnce);
  if (page.statements.length === 0) return <Empty title="This page said nothing that became data." />;
  return (
    <>
      <div class="toolbar">
        <label>
          <span class="hidden-text">Find in statements</span>
          <input
            type="search"
            placeholder="find in statements"
            value={words}
            onInput={(event) => {
              setWords(event.currentTarget.value);
              setOffset(0);
            }}
          />
        </label>
        {known.length > 0 && (
          <label>
            <span class="hidden-text">Syntax</span>
            <select
              value={syntax}
              onChange={(event) => {
                setSyntax(event.currentTarget.value);
                setOffset(0);
              }}
            >
              <option value="">all syntaxes</option>
              {known.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="muted" aria-live="polite">
          {plural(matching.length, "statement")}
          {page.statements_total > page.statements.length && `, of the first ${formatCount(page.statements.length)}`}
        </span>
      </div>
      <TableFrame label="Statements">
        <table class="data top">
          <thead>
            <tr>
              <th scope="col">Subject</th>
              <th scope="col">Predicate</th>
              <th scope="col">Object</th>
              {known.length > 0 && <th scope="col">Syntax</th>}
            </tr>
          </thead>
          <tbody>
            {shown.map((statement, place) => (
              <tr key={place + offset}>
                <td class="clip">
                  <TermView term={statement.subject} />
                </td>
                <td>
                  <Predicate iri={statement.predicate} />
                </td>
                <td class="wrap">
                  <TermView term={statement.object} />
                </td>
                {known.length > 0 && <td>{statement.syntax && <Chip>{statement.syntax}</Chip>}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      <Pager offset={offset} limit={shownAtOnce} total={matching.length} onMove={setOffset} />
    </>
  );
}
