import type { ListenerHooks } from '../../../src/clients/postgres.ts'
import type { Ask, Grant, LeaseRecord, Refusal } from '../../../src/core/index.ts'
import { Push } from '../../../src/stores/postgres/push.ts'
import type { Queries } from '../../../src/stores/postgres/queries.ts'

const LONG_MS = 60_000
/** The channel on which changes are announced. */
export const CHANNEL = 'holdfast_changes'

/** A store's push on a server that can be away, or deliver nothing. */
export function pushOnFakeServer() {
  const server = {
    away: false,
    delivers: true,
    stopped: false,
    lapsed: true,
    /** Whether the query that has changes announced fails. */
    watchFails: false,
    attempts: 0,
    open: 0,
    probes: 0,
    registered: [] as string[],
    ended: [] as string[],
    abandoned: [] as string[],
    watches: 0,
    channels: [] as string[],
    keepsAlive: false,
    /** As the driver reports it. */
    pid: 7,
    probedPids: [] as (number | null)[],
  }
  let hooks: ListenerHooks | undefined
  let deliver = () => {}
  const answer = () => {
    if (server.away) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }
  const queries: Partial<Queries> = {
    async probe(channel, payload, pid) {
      answer()
      server.probes++
      server.probedPids.push(pid)
      deliver = () => hooks?.notified(channel, payload)
      if (server.delivers) deliver()
      return pid === null ? null : 5
    },
    async register(leases) {
      answer()
      server.registered.push(...leases.map(({ id }) => id))
      return server.ended
    },
    async abandon(resource, id) {
      server.abandoned.push(`${resource} ${id}`)
    },
    async watch() {
      answer()
      if (server.watchFails) throw new Error('watch')
      server.watches++
      const { lapsed } = server
      server.lapsed = false
      return { channel: CHANNEL, lapsed }
    },
    writers: async () => [],
  }
  const push = new Push(
    async (given) => {
      server.attempts++
      answer()
      server.open++
      hooks = given
      return {
        pid: server.pid,
        listen: async (channel) => void server.channels.push(channel),
        unlisten: async (channel) => void server.channels.splice(server.channels.indexOf(channel), 1),
        keepAlive: (wanted) => {
          server.keepsAlive = wanted
        },
        close: () => {
          server.open--
          return server.stopped ? new Promise(() => {}) : Promise.resolve()
        },
      }
    },
    async (work) => work(queries as Queries),
  )
  const told: string[] = []
  const ask = (id: string): Ask => ({
    resource: 'r',
    id,
    owner: 'Mika',
    ttl: LONG_MS,
    wake: (inMs) => told.push(`${id} wake ${inMs}`),
    lost: () => told.push(`${id} lost`),
  })
  return {
    server,
    push,
    told,
    ask,
    drop: () => hooks?.dropped(),
    deliver: () => deliver(),
    send: (payload: string, channel = 'holdfast_own') => hooks?.notified(channel, payload),
    /** Somebody waits, so that the connection is needed. */
    wait: () => {
      push.expect(ask('waiter'))
      push.refused(ask('waiter'), QUEUED, push.address)
    },
  }
}

export const QUEUED: Refusal = { granted: false, holders: [], place: 0, retryIn: null }

export function grant(id: string, token = 1): Grant {
  const lease: LeaseRecord = {
    resource: 'r',
    id,
    owner: 'Mika',
    token,
    metadata: null,
    share: null,
    acquiredAt: 0,
    expiresAt: LONG_MS,
    remaining: LONG_MS,
    state: 'held',
  }
  return { granted: true, lease }
}
