// What is shown for an address that means nothing here.
import type { JSX } from "preact";
import { Empty } from "../components/basics.tsx";
import { hrefTo, route } from "../router.ts";

export function UnknownPage(): JSX.Element {
  return (
    <>
      <h1>Not found</h1>
      <Empty title={`There is no page “${route.value.path}”.`}>
        <p>
          Go to the <a href={hrefTo("crawl")}>crawl</a> or to the <a href={hrefTo("search")}>search</a>.
        </p>
      </Empty>
    </>
  );
}
