import * as v from 'valibot'
import { randomId } from '../../../src/base/random-id.ts'
import { createApi } from '../../../src/client/api.ts'
import { inOneSession } from '../../../src/client/lock-requests.ts'
import { Socket } from '../../../src/client/socket.ts'
import { systemClock } from '../../../src/core/index.ts'
import { documentEvents, type Person, roomLocks } from '../../../src/protocol/index.ts'
import { SERVICE_URL } from '../ui/service-url.ts'

/** Also for browsers without WebSockets, and for events that were lost. */
const READ_AGAIN_MS = 15_000
const TERMS = v.object({ channel: v.string(), channel_key: v.string() })

/** Who edits a document. */
export interface RoomLock {
  readonly name: string | null
  readonly sessionId: string
  readonly token: number
}

/** By the name of the room. */
export interface RoomLocks {
  readonly locks: ReadonlyMap<string, RoomLock>
  readonly lines: ReadonlyMap<string, RoomLine>
}

/** The waiters of a document. */
export interface RoomLine {
  readonly count: number
  /** The first ones, in their order. */
  readonly first: readonly Person[]
}

/**
 * The locks and queues of many rooms: read in one request, then kept up to date by one connection for all of them.
 * `onChange` is called with all of them after every change. Returns a function that ends this.
 */
export function followRooms(rooms: readonly string[], onChange: (locks: RoomLocks) => void): () => void {
  const url = SERVICE_URL
  const api = inOneSession(createApi({ url, clientId: randomId() }))
  const locks = new Map<string, RoomLock>()
  const lines = new Map<string, RoomLine>()
  /** Rooms of which an event came while all were read: the event is newer. */
  let lockedMeanwhile = new Set<string>()
  let linedUpMeanwhile = new Set<string>()
  let socket: Socket | undefined
  const stop = new AbortController()
  const { signal } = stop
  const refresh = () => {
    if (document.hidden) return
    if (!socket) void listen()
    void readAll()
  }
  const timer = setInterval(refresh, READ_AGAIN_MS)
  signal.addEventListener('abort', () => clearInterval(timer))
  document.addEventListener('visibilitychange', refresh, { signal })
  refresh()
  return () => {
    stop.abort()
    socket?.close()
  }

  async function readAll(): Promise<void> {
    lockedMeanwhile = new Set()
    linedUpMeanwhile = new Set()
    const request = { method: 'POST', path: 'api/documents/locks', body: { rooms } } as const
    const response = await api(request).catch(() => null)
    const { success, output } = v.safeParse(roomLocks, response?.body)
    if (signal.aborted || !success) return
    for (const lock of output.locks) {
      if (!linedUpMeanwhile.has(lock.room_id))
        lines.set(lock.room_id, { count: lock.waiting_count, first: lock.waiting })
      if (lockedMeanwhile.has(lock.room_id)) continue
      if (lock.is_locked) set(lock.room_id, lock)
      else locks.delete(lock.room_id)
    }
    show()
  }

  /** The lock of any room says where the events of all rooms are. */
  async function listen(): Promise<void> {
    const [room = ''] = rooms
    const path = `api/documents/${encodeURIComponent(room)}/lock`
    const response = await api({ method: 'GET', path }).catch(() => null)
    const { success, output } = v.safeParse(TERMS, response?.body)
    if (signal.aborted || socket || !success) return
    const form = output.channel.slice(0, output.channel.length - room.length)
    socket = new Socket({
      url,
      key: output.channel_key,
      channels: rooms.map((name) => form + name),
      clock: systemClock,
      api,
      onEvent,
      onJoined: (again) => again && refresh(),
    })
    socket.open()
  }

  function onEvent(event: string, data: object): void {
    const locked = v.safeParse(documentEvents['document.locked'], data)
    const unlocked = v.safeParse(documentEvents['document.unlocked'], data)
    const waiting = v.safeParse(documentEvents['document.line'], data)
    if (event === 'document.locked' && locked.success) {
      const { room_id } = locked.output
      lockedMeanwhile.add(room_id)
      set(room_id, locked.output)
    } else if (event === 'document.unlocked' && unlocked.success) {
      const { room_id, token } = unlocked.output
      const known = locks.get(room_id)
      lockedMeanwhile.add(room_id)
      if (known && known.token <= token) locks.delete(room_id)
    } else if (event === 'document.line' && waiting.success) {
      const { room_id, line, waiting_count } = waiting.output
      linedUpMeanwhile.add(room_id)
      lines.set(room_id, { count: waiting_count, first: line })
    } else return
    show()
  }

  function show(): void {
    onChange({ locks: new Map(locks), lines: new Map(lines) })
  }

  function set(room: string, { token, holder }: { readonly token: number; readonly holder: Person }): void {
    locks.set(room, { name: holder.name ?? null, sessionId: holder.session_id, token })
  }
}
