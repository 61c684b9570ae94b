import {
  columnResizingFeature,
  columnSizingFeature,
  createColumnHelper,
  type Header,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
} from '@tanstack/react-table'
import { holderName } from './people.ts'
import { nextToEnd, type ResourceGroup } from './resource-groups.ts'
import type { DashboardTexts } from './texts.ts'

export const features = tableFeatures({ rowSortingFeature, columnSizingFeature, columnResizingFeature })
type LeaseHeader = Header<typeof features, ResourceGroup, unknown>
export type ColumnName = 'resource' | 'holder' | 'waiting' | 'token' | 'age' | 'left'

const COLUMNS: readonly { readonly name: ColumnName; readonly width: number }[] = [
  { name: 'resource', width: 200 },
  { name: 'holder', width: 184 },
  { name: 'waiting', width: 80 },
  { name: 'token', width: 108 },
  // Each has room for the longest time, `999 h 59 min`, in both languages.
  { name: 'age', width: 132 },
  { name: 'left', width: 132 },
]
const MIN_WIDTH = 64
const KEY_STEP = 16

/** The width that the other columns leave belongs to the names. */
export function columnsFor(width: number) {
  const helper = createColumnHelper<typeof features, ResourceGroup>()
  const others = COLUMNS.slice(1).reduce((sum, column) => sum + column.width, 0)
  return helper.columns(
    COLUMNS.map(({ name, width: own }) =>
      // What it reads is never shown: only a column with a value can be sorted.
      helper.accessor('resource', {
        id: name,
        size: name === 'resource' ? Math.max(own, width - others) : own,
        minSize: MIN_WIDTH,
        sortDescFirst: name === 'waiting',
      }),
    ),
  )
}

/** In place of the row models of the table library, which make an object for each of ten thousand rows. */
export function sorted(
  groups: readonly ResourceGroup[],
  [column]: SortingState,
  waiting: ReadonlyMap<string, number>,
): readonly ResourceGroup[] {
  const values: Record<ColumnName, (group: ResourceGroup) => string | number> = {
    resource: ({ resource }) => resource,
    holder: ({ leases: [first] }) => holderName(first).toLowerCase(),
    waiting: ({ resource }) => waiting.get(resource) ?? 0,
    token: ({ leases: [first] }) => first.token,
    age: ({ leases: [first] }) => -first.since,
    left: (group) => nextToEnd(group).endsAt ?? Infinity,
  }
  if (!column) return groups
  const value = values[column.id as ColumnName]
  const sign = column.desc ? -1 : 1
  return groups.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)]
    return a === b ? 0 : a < b ? -sign : sign
  })
}

export function HeaderCell({
  header,
  words,
}: {
  readonly header: LeaseHeader
  readonly words: DashboardTexts
}) {
  const { column } = header
  const title = words[column.id as ColumnName]
  const sorted = column.getIsSorted()
  const resizeBy = (step: number) =>
    header.getContext().table.setColumnSizing((sizes) => ({
      ...sizes,
      [column.id]: Math.max(MIN_WIDTH, column.getSize() + step),
    }))
  return (
    <th aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : 'none'}>
      <button type="button" className="sort" onClick={() => column.toggleSorting()}>
        {title}
        <span aria-hidden="true">{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}</span>
      </button>
      {/* biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is a widget, and <hr> is not. */}
      <span
        role="separator"
        tabIndex={0}
        className="resizer"
        aria-label={words.widthOf(title)}
        aria-orientation="vertical"
        aria-valuenow={column.getSize()}
        aria-valuemin={MIN_WIDTH}
        onPointerDown={header.getResizeHandler()}
        onDoubleClick={() => column.resetSize()}
        onKeyDown={({ key }) => {
          if (key === 'ArrowLeft') resizeBy(-KEY_STEP)
          if (key === 'ArrowRight') resizeBy(KEY_STEP)
        }}
      />
    </th>
  )
}
