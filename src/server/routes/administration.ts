import { auditPage, errorBody, locksListed, stats as statsSchema, success } from '../../protocol/index.ts'
import { observed } from '../announcer.ts'
import { integer, oneOf, text } from '../http/query.ts'
import { type Route, route } from '../http/route.ts'
import type { Log } from '../log.ts'
import type { Service } from '../service.ts'
import { statsRanges } from '../stats.ts'
import { after, limit, listQuery, prefix } from './leases.ts'
import { lockNotFound } from './lock-replies.ts'

const before = integer(1, Number.MAX_SAFE_INTEGER, 'The `next` of the previous page.')
const resource = text(512, 'Only entries about this resource.')
const range = oneOf(statsRanges, 'The time that the buckets cover. Default 15m.')

/** For the people who run the service, and for the dashboard. */
export function administrationRoutes(service: Service): Route[] {
  const { store, locks, waitingList, audit, stats, feed, settings, log } = service
  const warnOfDamaged = damagedWarning(log)
  return [
    route('GET', '/api/locks', {
      id: 'listLocks',
      action: 'observe',
      summary: 'All live leases, of rooms and others, without their ids.',
      query: { prefix, after, limit },
      answers: { 200: locksListed },
      async handle(request) {
        const { leases, ...page } = await store.list(listQuery(request))
        return { body: { locks: leases.map(observed), ...page } }
      },
    }),
    route('DELETE', '/api/locks/{resource}', {
      id: 'forceRelease',
      action: 'admin',
      summary: 'End a lease by force. The resource of a room is `document:` and its name.',
      answers: { 200: success, 404: errorBody },
      async handle({ resource, identity }) {
        if (await locks.forceRelease(resource, identity.publicId)) return { body: { success: true } }
        throw lockNotFound()
      },
    }),
    route('GET', '/api/audit', {
      id: 'readAudit',
      action: 'admin',
      summary: 'Who locked, unlocked and took over which resource. The newest entry is first.',
      query: { resource, before, limit },
      answers: { 200: auditPage },
      async handle(request) {
        const from = request.query('before', before)
        const { damaged = [], ...page } = await audit.read({
          limit: request.query('limit', limit) ?? 100,
          ...(from !== undefined && { before: from }),
          ...(request.resource !== '' && { resource: request.resource }),
        })
        warnOfDamaged(damaged)
        return { body: page }
      },
    }),
    route('GET', '/api/stats', {
      id: 'readStats',
      action: 'observe',
      summary: 'The last 15 minutes in buckets of ten seconds, or the last day in buckets of five minutes.',
      query: { range },
      answers: { 200: statsSchema },
      handle(request) {
        const figures = stats.read(request.query('range', range) ?? '15m', feed.live, waitingList.size)
        return { body: { ...figures, channel_key: settings.channelKey } }
      },
    }),
  ]
}

/** Warns once about each entry, because a dashboard reads the trail every few seconds. */
function damagedWarning(log: Log): (numbers: readonly number[]) => void {
  const reported = new Set<number>()
  return (numbers) => {
    const found = numbers.filter((number) => !reported.has(number))
    if (found.length === 0) return
    for (const number of found) reported.add(number)
    log('warn', 'audit', { error: 'these entries cannot be read, and are skipped', numbers: found })
  }
}
