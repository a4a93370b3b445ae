// The links of a page, with their anchor text and what became of them.
import type { JSX } from "preact";
import type { PageAnswer } from "../../api/types.ts";
import { Chip, Empty, TableFrame } from "../../components/basics.tsx";
import { PageLink } from "../../components/terms.tsx";

/** The table. */
export function Outlinks(props: { page: PageAnswer }): JSX.Element {
  const { outlinks } = props.page;
  if (outlinks.length === 0) return <Empty title="This page links nowhere." />;
  return (
    <TableFrame label="Links of the page">
      <table class="data">
        <thead>
          <tr>
            <th scope="col">To</th>
            <th scope="col">Anchor text</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {outlinks.map((link, place) => (
            <tr key={place}>
              <td class="clip">
                <PageLink url={link.url} length={80} />
              </td>
              <td dir="auto">{link.anchor}</td>
              <td>{link.state && <Chip>{link.state}</Chip>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
