import { memo, type ReactNode } from 'react'
import type { Stats, Viewer } from '../../../src/protocol/index.ts'
import { Avatar } from '../../../src/react/avatar.tsx'
import type { ColumnName } from './lease-columns.tsx'
import { type LiveLease, leaseKey } from './live-leases.ts'
import { Age, TimeLeft } from './live-times.tsx'
import { crowdText, holderName, metadataLine, personName, shareText } from './people.ts'
import { nextToEnd, type ResourceGroup, type TableLine } from './resource-groups.ts'
import type { DashboardTexts } from './texts.ts'
import { Token } from './token.tsx'

/** Others are a number. */
const FACES = 3

export type ViewedRoom = Stats['viewed'][number]

interface LeaseRowProps {
  readonly kind: TableLine['kind']
  /** Of a group, its oldest. */
  readonly lease: LiveLease
  readonly group: ResourceGroup | null
  /** How many leases the resource has. */
  readonly holders: number
  readonly isOpen: boolean
  /** `null`: it is shown in the row of the group. */
  readonly waiting: number | null
  readonly viewed: ViewedRoom | undefined
  readonly isSelected: boolean
  readonly index: number
  readonly top: number
  readonly measure: (row: HTMLElement | null) => void
  readonly words: DashboardTexts
  readonly onSelect: (resource: string) => void
  readonly onFold: (resource: string) => void
}

export const LeaseRow = memo(function LeaseRow(props: LeaseRowProps) {
  const { kind, lease, group, waiting, viewed, isSelected, index, top, measure, words, onSelect } = props
  const cell = (name: ColumnName, content: ReactNode, title?: string) => (
    <td className={`cell-${name}`} data-title={words[name]} title={title}>
      {content}
    </td>
  )
  return (
    // The button in the first cell does the same by keyboard.
    <tr
      ref={measure}
      data-index={index}
      className="row"
      data-kind={kind}
      aria-rowindex={index + 2}
      aria-current={isSelected || undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(lease.resource)}
    >
      {cell('resource', <Resource {...props} />, lease.resource)}
      {group
        ? cell('holder', <Holders group={group} words={words} />)
        : cell(
            'holder',
            <Holder lease={lease} viewed={viewed} words={words} />,
            [lease.owner, metadataLine(lease)].filter(Boolean).join('\n'),
          )}
      {cell(
        'waiting',
        waiting !== null && <span className={waiting > 0 ? 'some-wait' : 'quiet'}>{waiting}</span>,
      )}
      {cell('token', !group && <Token token={lease.token} words={words} />)}
      {cell('age', <Age since={lease.since} words={words} />)}
      {cell('left', <TimeLeft lease={group ? nextToEnd(group) : lease} words={words} />)}
    </tr>
  )
})

function Resource({ kind, lease, group, holders, isOpen, waiting, words, onFold }: LeaseRowProps) {
  const { resource, state } = lease
  const share = group ? crowdText(group, waiting ?? 0, words) : shareText(lease, holders, words)
  return (
    <>
      {group && (
        <button
          type="button"
          className="fold"
          aria-expanded={isOpen}
          aria-label={words.unfold(resource)}
          onClick={(event) => {
            event.stopPropagation()
            onFold(resource)
          }}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="m6 4 4 4-4 4" />
          </svg>
        </button>
      )}
      <span className="resource">
        <button
          type="button"
          className="link"
          data-resource={resource}
          data-lease={group ? undefined : leaseKey(lease)}
        >
          <bdi>{resource}</bdi>
        </button>{' '}
        {share && kind !== 'part' && <span className="share quiet">{share}</span>}
        {state === 'kept' && !group && (
          <span className="kept" title={words.keptExplained}>
            {words.kept}
          </span>
        )}
      </span>
    </>
  )
}

/** Only people have a face. */
function Holder({ lease, viewed, words }: Pick<LeaseRowProps, 'lease' | 'viewed' | 'words'>) {
  const isKept = lease.state === 'kept'
  const person = personName(lease)
  return (
    <>
      {person !== null && <Avatar id={lease.owner} name={person} activity={isKept ? 'viewing' : 'editing'} />}
      <span className={isKept ? 'holder-text quiet' : 'holder-text'}>
        <bdi>{holderName(lease)}</bdi> <span className="quiet meta">{metadataLine(lease)}</span>
      </span>
      {viewed && <Viewers viewed={viewed} holder={lease.owner} words={words} />}
    </>
  )
}

/** Those who have the room open, without its holder. */
function Viewers(props: { viewed: ViewedRoom; holder: string; words: DashboardTexts }) {
  const { viewed, holder, words } = props
  const others = viewed.first.filter(({ session_id }) => session_id !== holder)
  const count = viewed.count - (viewed.first.length - others.length)
  if (count === 0) return null
  const names = others.map(({ name }) => name ?? words.somebody).join(', ')
  const more = count - Math.min(FACES, others.length)
  return (
    <span className="faces" title={words.viewing(names)}>
      {others.slice(0, FACES).map(({ session_id, name }: Viewer) => (
        <Avatar key={session_id} id={session_id} name={name} />
      ))}
      {more > 0 && <span className="quiet more">+{more}</span>}
      <span className="visually-hidden">{words.viewing(names)}</span>
    </span>
  )
}

function Holders({ group, words }: { readonly group: ResourceGroup; readonly words: DashboardTexts }) {
  const names = group.leases.slice(0, FACES).map(holderName)
  const more = group.total - names.length
  return (
    <>
      <span className="faces">
        {group.leases.slice(0, FACES).map((lease) => {
          const person = personName(lease)
          return (
            person !== null && <Avatar key={lease.token} id={lease.owner} name={person} activity="editing" />
          )
        })}
      </span>
      <span className="holder-text">
        {names.map((name, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a holder may have several of the leases.
          <span key={n}>
            {n > 0 && ', '}
            <bdi>{name}</bdi>
          </span>
        ))}
        {more > 0 && <span className="quiet"> {words.andMore(more)}</span>}
      </span>
    </>
  )
}
