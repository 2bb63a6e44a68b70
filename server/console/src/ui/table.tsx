// A table that stays quick with ten thousand rows: only those near the window are in the page.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { param, setQuery } from "../router";
import { CopyButton } from "./parts";

export interface Column<Row> {
  readonly name: string; // in the address, and in CSV
  readonly title: string;
  readonly show: (row: Row) => ComponentChildren;
  readonly text: (row: Row) => string | number; // for sorting and CSV
  readonly number?: boolean; // aligned right
  readonly wide?: boolean; // not on narrow screens
}

const kRowHeight = 41; // as style.css has it
const kStep = 10; // rows that come and go at once; as many are there above and below the window

// `loading`: more rows are on their way.
export function Table<Row>({ rows, columns, id, label, loading = false }: {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id: (row: Row) => string;
  label: string;
  loading?: boolean;
}): JSX.Element {
  const sorted = sortRows(rows, columns);
  return (
    <div class="table">
      <table aria-label={label} aria-rowcount={loading ? -1 : sorted.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <HeadCell key={column.name} column={column} />
            ))}
          </tr>
        </thead>
        <Body rows={sorted} columns={columns} id={id} />
      </table>
      <footer class="quiet">
        <span role="status">
          {sorted.length} {sorted.length === 1 ? "row" : "rows"}
          {loading && ", loading more …"}
        </span>
        <CopyCsv rows={sorted} columns={columns} />
      </footer>
    </div>
  );
}

// Apart from the table, so that scrolling makes only these rows anew.
function Body<Row>({ rows, columns, id }: { rows: readonly Row[]; columns: readonly Column<Row>[]; id: (row: Row) => string }): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const [from, setFrom] = useState(0);
  const [height, setHeight] = useState(window.innerHeight);

  useEffect(() => {
    const measure = (): void => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const hidden = Math.floor(-top / kRowHeight);
      setFrom(Math.max(0, (Math.floor(hidden / kStep) - 1) * kStep));
      setHeight(window.innerHeight);
    };
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, [rows.length]);

  const count = Math.ceil(height / kRowHeight) + 3 * kStep;
  const first = Math.min(from, Math.max(0, rows.length - count));
  const shown = rows.slice(first, first + count);
  const after = rows.length - first - shown.length;
  return (
    <tbody ref={body}>
      {first > 0 && <Gap rows={first} columns={columns.length} />}
      {shown.map((row, index) => (
        <tr key={id(row)} aria-rowindex={first + index + 2}>
          {columns.map((column) => (
            <td key={column.name} class={cellClass(column)}>
              {column.show(row)}
            </td>
          ))}
        </tr>
      ))}
      {after > 0 && <Gap rows={after} columns={columns.length} />}
    </tbody>
  );
}

function Gap({ rows, columns }: { rows: number; columns: number }): JSX.Element {
  return (
    <tr aria-hidden="true" class="gap">
      <td colSpan={columns} height={rows * kRowHeight} />
    </tr>
  );
}

const cellClass = (column: { title: string; number?: boolean; wide?: boolean }): string =>
  `${column.number ? "number" : ""} ${column.wide ? "wide" : ""} ${column.title === "" ? "do" : ""}`.trim();

function HeadCell<Row>({ column }: { column: Column<Row> }): JSX.Element {
  // A column of buttons: there is nothing to sort by.
  if (column.title === "") return <td class={cellClass(column)} />;
  const sort = param("sort");
  const down = sort === `-${column.name}`;
  const up = sort === column.name;
  const next = up ? `-${column.name}` : down ? "" : column.name;
  return (
    <th scope="col" class={cellClass(column)} aria-sort={up ? "ascending" : down ? "descending" : "none"}>
      <button type="button" onClick={() => setQuery({ sort: next })}>
        {column.title}
        <span aria-hidden="true">{up ? " ↑" : down ? " ↓" : ""}</span>
      </button>
    </th>
  );
}

function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): readonly Row[] {
  const sort = param("sort");
  const column = columns.find((each) => each.name === sort.replace(/^-/, ""));
  if (column === undefined) return rows;
  const sign = sort.startsWith("-") ? -1 : 1;
  // The key of each row is made once, and compared without a collator: that would take a second for ten thousand rows.
  const keyed = rows.map((row) => ({ row, key: sortKey(column.text(row)) }));
  keyed.sort((left, right) => (left.key < right.key ? -sign : left.key > right.key ? sign : 0));
  return keyed.map((each) => each.row);
}

// Small letters as large ones, letters with marks as those without, and numbers by their value: "a10" comes after "a9", and "1,000 each
// minute" after "60 each minute".
export function sortKey(value: string | number): string | number {
  if (typeof value === "number") return value;
  const text = value.toLowerCase().replace(/[0-9]+(,[0-9]{3})*/g, (digits) => digits.replaceAll(",", "").padStart(16, "0"));
  return /^[\x20-\x7e]*$/.test(text) ? text : text.normalize("NFKD").replace(/\p{M}/gu, "");
}

// A cell that a spreadsheet would take for a formula begins with a quote.
export function csvCell(value: string | number): string {
  const text = typeof value === "number" ? String(value) : value.replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

type CsvColumn<Row> = Pick<Column<Row>, "title" | "text">;

// Columns without a title are for buttons.
function csvOf<Row>(rows: readonly Row[], columns: readonly CsvColumn<Row>[]): string {
  const told = columns.filter((column) => column.title !== "");
  const lines = [told.map((column) => csvCell(column.title)).join(",")];
  for (const row of rows) lines.push(told.map((column) => csvCell(column.text(row))).join(","));
  return lines.join("\r\n");
}

// For rows that are not shown as a table.
export function CopyCsv<Row>({ rows, columns }: { rows: readonly Row[]; columns: readonly CsvColumn<Row>[] }): JSX.Element {
  return <CopyButton text={() => csvOf(rows, columns)} label="Copy as CSV" />;
}
