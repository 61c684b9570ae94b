import './document-list.css'
import { type FormEvent, useEffect, useState } from 'react'
import type { DocumentLockState, Participant } from '../../../src/client/index.ts'
import { Avatar } from '../../../src/react/index.ts'
import { isolatedName } from '../../../src/react/isolated-name.ts'
import { useMedia } from '../ui/use-media.ts'
import { forget, remember, useKnownDocuments } from './known-documents.ts'
import { followRooms, type RoomLine, type RoomLock, type RoomLocks } from './room-locks.ts'
import { addressOf } from './rooms.ts'
import type { EditorTexts } from './texts.ts'

const MAX_NAME_BYTES = 200
/** Of a document that is not open here. */
const WAITERS_SHOWN = 3

interface DocumentListProps {
  readonly roomId: string
  readonly state: DocumentLockState
  readonly words: EditorTexts
}

/** The documents of this browser, with who edits each, and a way to open another one. */
export function DocumentList({ roomId, state, words }: DocumentListProps) {
  const known = useKnownDocuments()
  const { locks, lines } = useLocks(known, roomId)
  const isWide = useMedia('(min-width: 1000px)')
  useEffect(() => remember(roomId), [roomId])
  const editorOf = (name: string) => {
    if (name === roomId && state.held) return words.youEdit
    // A lock that this tab has lost is nobody's.
    const holder = name === roomId ? (state.holder?.isMe ? null : state.holder) : locks.get(name)
    if (!holder) return null
    return holder.sessionId === state.me?.sessionId
      ? words.youEditElsewhere
      : words.isEditing(isolatedName(holder.name))
  }
  return (
    <details className="documents card" open={isWide}>
      <summary>
        <h2>{words.documents}</h2>
      </summary>
      <ul>
        {known.map((name) => {
          const editor = editorOf(name)
          const faces = name === roomId ? state.people : facesOf(locks.get(name), lines.get(name))
          const inLine = name === roomId ? 0 : (lines.get(name)?.count ?? 0)
          return (
            <li key={name}>
              <a href={addressOf(name)} aria-current={name === roomId ? 'page' : undefined}>
                <LockIcon isLocked={editor !== null} isMe={editor === words.youEdit} />
                <span className="title" dir="auto">
                  {name}
                </span>
                <span className="who">
                  {faces.map((person) => (
                    <Avatar
                      key={`${person.sessionId} ${person.place}`}
                      id={person.sessionId}
                      name={person.name}
                      activity={person.role}
                      number={person.place === null ? null : person.place + 1}
                    />
                  ))}
                  <span className="words">
                    {[editor, inLine > 0 && words.inLine(inLine)].filter(Boolean).join(' · ')}
                  </span>
                </span>
              </a>
              {name !== roomId && (
                <button
                  type="button"
                  aria-label={words.forget(name)}
                  title={words.forget(name)}
                  onClick={() => forget(name)}
                >
                  ×
                </button>
              )}
            </li>
          )
        })}
      </ul>
      <NewDocument words={words} />
    </details>
  )
}

/**
 * Of a document that is not open here: the holder and the waiters. Its readers are not known, because who sees them is in
 * view there, too.
 */
function facesOf(lock: RoomLock | undefined, line: RoomLine | undefined): Face[] {
  const editors = lock ? [{ ...lock, role: 'editing' as const, place: null }] : []
  const waiters = line?.first.slice(0, WAITERS_SHOWN).map(({ session_id, name = null }, place) => ({
    sessionId: session_id,
    name,
    role: 'waiting' as const,
    place,
  }))
  return [...editors, ...(waiters ?? [])]
}

type Face = Pick<Participant, 'sessionId' | 'name' | 'role' | 'place'>

function NewDocument({ words }: Pick<DocumentListProps, 'words'>) {
  const [isRefused, setRefused] = useState(false)
  const open = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const name = String(new FormData(form).get('name')).trim()
    const isTooLong = new TextEncoder().encode(name).length > MAX_NAME_BYTES
    setRefused(isTooLong)
    if (name === '' || isTooLong) return
    form.reset()
    location.href = addressOf(name)
  }
  return (
    <form onSubmit={open}>
      <input
        name="name"
        aria-label={words.newDocument}
        placeholder={words.newDocument}
        aria-invalid={isRefused}
        autoComplete="off"
      />
      <button type="submit">{words.open}</button>
      <p role="alert">{isRefused && words.badName}</p>
    </form>
  )
}

function LockIcon({ isLocked, isMe }: { readonly isLocked: boolean; readonly isMe: boolean }) {
  return (
    <svg
      className="lock"
      data-state={isMe ? 'mine' : isLocked ? 'taken' : 'free'}
      viewBox="0 0 16 16"
      aria-hidden
    >
      <rect x="3" y="7" width="10" height="7" rx="1.5" />
      <path d={isLocked ? 'M5 7V5a3 3 0 0 1 6 0v2' : 'M5 7V5a3 3 0 0 1 5.8-1'} />
    </svg>
  )
}

/** The lock of the open document is known already. */
function useLocks(known: readonly string[], roomId: string): RoomLocks {
  const [locks, setLocks] = useState<RoomLocks>({ locks: new Map(), lines: new Map() })
  const others = JSON.stringify(known.filter((name) => name !== roomId))
  useEffect(() => {
    const rooms: string[] = JSON.parse(others)
    return rooms.length === 0 ? undefined : followRooms(rooms, setLocks)
  }, [others])
  return locks
}
