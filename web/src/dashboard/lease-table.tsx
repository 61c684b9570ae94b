import { type SortingState, useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type ReactNode,
  type RefObject,
  useDeferredValue,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { SERVICE_URL } from '../ui/service-url.ts'
import { columnsFor, features, HeaderCell, sorted } from './lease-columns.tsx'
import { LeaseRow, type ViewedRoom } from './lease-row.tsx'
import type { LiveLease } from './live-leases.ts'
import { groupByResource, linesOf, type ResourceGroup, type TableLine } from './resource-groups.ts'
import type { DashboardTexts } from './texts.ts'

interface LeaseTableProps {
  readonly leases: readonly LiveLease[]
  /** How many wait for a resource, by its name. */
  readonly waiting: ReadonlyMap<string, number>
  /** Who has a room open, by the name of its resource. */
  readonly viewed: ReadonlyMap<string, ViewedRoom>
  readonly isLoading: boolean
  readonly selected: string | null
  readonly words: DashboardTexts
  readonly onSelect: (resource: string) => void
}

const NARROW = '(max-width: 840px)'
/** Before they are measured: names may need several lines. */
const ROW_HEIGHT = { wide: 40, narrow: 116 }
/** The table library knows the columns only. */
const NO_ROWS: ResourceGroup[] = []
const BY_NAME: SortingState = [{ id: 'resource', desc: false }]

/** All leases that are live or kept, by resource: filtered, sorted by any column, and drawn only where they are seen. */
export function LeaseTable(props: LeaseTableProps) {
  const { leases, isLoading, words } = props
  const [filter, setFilter] = useState('')
  const wanted = useDeferredValue(filter.trim().toLowerCase())
  const groups = useMemo(
    () => groupByResource(leases, wanted ? (lease) => textOf(lease).includes(wanted) : () => true),
    [leases, wanted],
  )
  return (
    <section className="card leases" aria-label={words.leases}>
      <div className="bar">
        <h2 className="grow">
          {words.leases} <span className="counts">{countsText(groups, words)}</span>
        </h2>
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.filter}
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
        />
      </div>
      {groups.length === 0 ? (
        <EmptyLeases isFiltered={leases.length > 0} isLoading={isLoading} words={words} />
      ) : (
        <Rows {...props} groups={groups} isFiltered={wanted !== ''} />
      )}
    </section>
  )
}

function countsText(groups: readonly ResourceGroup[], words: DashboardTexts): string {
  let [live, kept] = [0, 0]
  for (const { leases } of groups)
    for (const { state } of leases)
      if (state === 'kept') kept++
      else live++
  return groups.length === 0 ? '' : words.counts(live, groups.length, kept)
}

type RowsProps = Pick<LeaseTableProps, 'waiting' | 'viewed' | 'selected' | 'words' | 'onSelect'> & {
  readonly groups: ResourceGroup[]
  /** Then all leases that the filter leaves are shown. */
  readonly isFiltered: boolean
}

function Rows({ groups, isFiltered, waiting, viewed, selected, words, onSelect }: RowsProps) {
  const viewport = useRef<HTMLDivElement>(null)
  const { width, isNarrow } = useSize(viewport)
  const [unfolded, fold] = useFolds()
  const [sorting, setSorting] = useState(BY_NAME)
  const columns = useMemo(() => columnsFor(width), [width])
  const table = useTable({
    features,
    columns,
    data: NO_ROWS,
    state: { sorting },
    onSortingChange: setSorting,
    enableSortingRemoval: false,
    columnResizeMode: 'onChange',
  })
  const isOpen = ({ resource }: ResourceGroup) => isFiltered || unfolded.has(resource)
  const rows = useMemo(() => sorted(groups, sorting, waiting), [groups, sorting, waiting])
  const lines = linesOf(rows, isOpen)
  const headers = table.getHeaderGroups()[0]?.headers ?? []
  const tracks = headers.map((header) => `${header.getSize()}px`).join(' ')
  const rowHeight = isNarrow ? ROW_HEIGHT.narrow : ROW_HEIGHT.wide
  return (
    <div className="viewport" ref={viewport}>
      <table aria-rowcount={lines.length + 1} style={{ '--tracks': tracks } as object}>
        <thead>
          <tr className="row head" aria-rowindex={1}>
            {headers.map((header) => (
              <HeaderCell key={header.id} header={header} words={words} />
            ))}
          </tr>
        </thead>
        <VirtualBody
          key={rowHeight}
          lines={lines}
          rowHeight={rowHeight}
          viewport={viewport}
          row={(line, index, place) => (
            <LeaseRow
              key={line.id}
              {...place}
              kind={line.kind}
              lease={line.lease}
              group={line.kind === 'group' ? line.group : null}
              holders={line.group.total}
              isOpen={isOpen(line.group)}
              waiting={line.kind === 'part' ? null : (waiting.get(line.group.resource) ?? 0)}
              viewed={line.kind === 'part' ? undefined : viewed.get(line.group.resource)}
              isSelected={line.group.resource === selected}
              index={index}
              words={words}
              onSelect={onSelect}
              onFold={fold}
            />
          )}
        />
      </table>
    </div>
  )
}

/** The resources whose leases are shown one by one. */
function useFolds(): [ReadonlySet<string>, (resource: string) => void] {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const fold = useRef((resource: string) =>
    setUnfolded((before) => {
      const after = new Set(before)
      if (!after.delete(resource)) after.add(resource)
      return after
    }),
  )
  return [unfolded, fold.current]
}

interface Place {
  readonly top: number
  readonly measure: (row: HTMLElement | null) => void
}

interface VirtualBodyProps {
  readonly lines: readonly TableLine[]
  readonly rowHeight: number
  readonly viewport: RefObject<HTMLElement | null>
  readonly row: (line: TableLine, index: number, place: Place) => ReactNode
}

/** Draws only the rows that can be seen. */
function VirtualBody({ lines, rowHeight, viewport, row }: VirtualBodyProps) {
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => viewport.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => lines[index]?.id ?? index,
    overscan: 8,
  })
  return (
    <tbody style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, start }) => {
        const line = lines[index]
        return line && row(line, index, { top: start, measure: virtual.measureElement })
      })}
    </tbody>
  )
}

interface EmptyLeasesProps extends Pick<LeaseTableProps, 'isLoading' | 'words'> {
  readonly isFiltered: boolean
}

function EmptyLeases({ isFiltered, isLoading, words }: EmptyLeasesProps) {
  if (isLoading) return <p className="quiet empty">{words.loading}</p>
  if (isFiltered) return <p className="quiet empty">{words.noMatch}</p>
  return (
    <div className="empty">
      <p className="quiet">{words.none}</p>
      <pre className="mono">
        {`curl -X POST ${SERVICE_URL}api/documents/first/lock \\
  -H 'content-type: application/json' \\
  -d '{"name": "Mika"}'`}
      </pre>
    </div>
  )
}

function textOf({ resource, owner, metadata }: LiveLease): string {
  return `${resource} ${owner} ${metadata ? JSON.stringify(metadata) : ''}`.toLowerCase()
}

function useSize(element: { readonly current: HTMLElement | null }) {
  const [size, setSize] = useState({ width: 0, isNarrow: matchMedia(NARROW).matches })
  useLayoutEffect(() => {
    if (!element.current) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: entry.contentRect.width, isNarrow: matchMedia(NARROW).matches })
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return size
}
