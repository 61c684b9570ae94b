import { type SortingState, useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  memo,
  type ReactNode,
  type RefObject,
  useDeferredValue,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { SERVICE_URL } from '../ui/service-url.ts'
import { type ColumnName, columnsFor, features, HeaderCell } from './lease-columns.tsx'
import { type LiveLease, leaseKey } from './live-leases.ts'
import { Age, TimeLeft } from './live-times.tsx'
import { countHolders, holderName, metadataLine, shareText } from './people.ts'
import type { DashboardTexts } from './texts.ts'

interface LeaseTableProps {
  readonly leases: readonly LiveLease[]
  /** How many wait for a resource, by its name. */
  readonly waiting: ReadonlyMap<string, number>
  readonly isLoading: boolean
  readonly selected: string | null
  readonly words: DashboardTexts
  readonly onSelect: (resource: string) => void
}

const NARROW = '(max-width: 840px)'
const ROW_HEIGHT = { wide: 40, narrow: 116 }
const BY_NAME: SortingState = [{ id: 'resource', desc: false }]

/** All leases that are live or kept: filtered, sorted by any column, and drawn only where they are seen. */
export function LeaseTable(props: LeaseTableProps) {
  const { leases, waiting, isLoading, selected, words, onSelect } = props
  const [filter, setFilter] = useState('')
  const wanted = useDeferredValue(filter.trim().toLowerCase())
  const data = useMemo(
    () => (wanted ? leases.filter((lease) => textOf(lease).includes(wanted)) : [...leases]),
    [leases, wanted],
  )
  const holders = useMemo(() => countHolders(leases), [leases])
  return (
    <section className="card leases" aria-label={words.leases}>
      <div className="bar">
        <h2 className="grow">
          {words.leases} <span className="mono">{data.length.toLocaleString()}</span>
        </h2>
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.filter}
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
        />
      </div>
      {data.length === 0 ? (
        <EmptyLeases isFiltered={leases.length > 0} isLoading={isLoading} words={words} />
      ) : (
        <Rows
          data={data}
          holders={holders}
          waiting={waiting}
          selected={selected}
          words={words}
          onSelect={onSelect}
        />
      )}
    </section>
  )
}

type RowsProps = Pick<LeaseTableProps, 'waiting' | 'selected' | 'words' | 'onSelect'> & {
  readonly data: LiveLease[]
  /** How many leases a resource has, by its name. */
  readonly holders: ReadonlyMap<string, number>
}

function Rows({ data, holders, waiting, selected, words, onSelect }: RowsProps) {
  const viewport = useRef<HTMLDivElement>(null)
  const { width, isNarrow } = useSize(viewport)
  const columns = useMemo(() => columnsFor(width, waiting), [width, waiting])
  const table = useTable({
    features,
    columns,
    data,
    getRowId: leaseKey,
    initialState: { sorting: BY_NAME },
    enableSortingRemoval: false,
    columnResizeMode: 'onChange',
  })
  const { rows } = table.getRowModel()
  const headers = table.getHeaderGroups()[0]?.headers ?? []
  const tracks = headers.map((header) => `${header.getSize()}px`).join(' ')
  const rowHeight = isNarrow ? ROW_HEIGHT.narrow : ROW_HEIGHT.wide
  return (
    <div className="viewport" ref={viewport}>
      <table aria-rowcount={rows.length + 1} style={{ '--tracks': tracks } as object}>
        <thead>
          <tr className="row head" aria-rowindex={1}>
            {headers.map((header) => (
              <HeaderCell key={header.id} header={header} words={words} />
            ))}
          </tr>
        </thead>
        <VirtualBody
          key={rowHeight}
          count={rows.length}
          rowHeight={rowHeight}
          viewport={viewport}
          row={(index, top) => {
            const row = rows[index]
            return (
              row && (
                <LeaseRow
                  key={row.id}
                  lease={row.original}
                  holders={holders.get(row.original.resource) ?? 1}
                  waiting={waiting.get(row.original.resource) ?? 0}
                  isSelected={row.original.resource === selected}
                  index={index}
                  top={top}
                  words={words}
                  onSelect={onSelect}
                />
              )
            )
          }}
        />
      </table>
    </div>
  )
}

interface VirtualBodyProps {
  readonly count: number
  readonly rowHeight: number
  readonly viewport: RefObject<HTMLElement | null>
  readonly row: (index: number, top: number) => ReactNode
}

/** Draws only the rows that can be seen. */
function VirtualBody({ count, rowHeight, viewport, row }: VirtualBodyProps) {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => viewport.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  })
  return (
    <tbody style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, start }) => row(index, start))}
    </tbody>
  )
}

interface LeaseRowProps extends Pick<LeaseTableProps, 'words' | 'onSelect'> {
  readonly lease: LiveLease
  readonly holders: number
  readonly waiting: number
  readonly isSelected: boolean
  readonly index: number
  readonly top: number
}

const LeaseRow = memo(function LeaseRow(props: LeaseRowProps) {
  const { lease, holders, waiting, isSelected, index, top, words, onSelect } = props
  const { resource, owner, token, since } = lease
  const share = shareText(lease, holders, words)
  const cell = (name: ColumnName, content: ReactNode, title?: string) => (
    <td className={`cell-${name}`} data-title={words[name]} title={title}>
      {content}
    </td>
  )
  return (
    // The button in the first cell does the same by keyboard.
    <tr
      className="row"
      aria-rowindex={index + 2}
      aria-current={isSelected || undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(resource)}
    >
      {cell(
        'resource',
        <>
          <button type="button" className="link" data-resource={resource} data-lease={leaseKey(lease)}>
            {resource}
          </button>
          {share && <span className="share quiet">{share}</span>}
          {lease.state === 'kept' && (
            <span className="kept" title={words.keptExplained}>
              {words.kept}
            </span>
          )}
        </>,
        resource,
      )}
      {cell(
        'holder',
        <>
          <span className={lease.state === 'kept' ? 'quiet' : undefined}>{holderName(lease)}</span>{' '}
          <span className="quiet">{metadataLine(lease)}</span>
        </>,
        [owner, metadataLine(lease)].filter(Boolean).join('\n'),
      )}
      {cell('waiting', <span className={waiting > 0 ? 'some-wait' : 'quiet'}>{waiting}</span>)}
      {cell('token', token)}
      {cell('age', <Age since={since} words={words} />)}
      {cell('left', <TimeLeft lease={lease} words={words} />)}
    </tr>
  )
})

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
