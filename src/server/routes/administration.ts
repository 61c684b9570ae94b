import { auditPage, errorBody, locksListed, stats, success } from '../../protocol/index.ts'
import { observed } from '../announcer.ts'
import { HttpError } from '../http/http-error.ts'
import { integer, text } from '../http/query.ts'
import { type Route, route } from '../http/route.ts'
import type { Service } from '../service.ts'
import { after, limit, listQuery, prefix } from './leases.ts'

const before = integer(1, Number.MAX_SAFE_INTEGER, 'The `next` of the page before.')
const resource = text(512, 'Only entries about this resource.')

/** For those who run the service, and for the dashboard. */
export function administrationRoutes({
  store,
  locks,
  line,
  audit,
  stats: figures,
  feed,
  settings,
  log,
}: Service): Route[] {
  /** Once each, since a dashboard asks every few seconds. */
  const told = new Set<number>()
  const tellOfDamaged = (numbers: readonly number[]) => {
    const news = numbers.filter((number) => !told.has(number))
    if (news.length === 0) return
    for (const number of news) told.add(number)
    log('warn', 'audit', { error: 'entries of the trail cannot be read, and are passed over', numbers: news })
  }
  return [
    route({
      ...{ method: 'GET', path: '/api/locks', id: 'listLocks', action: 'observe' },
      summary: 'All live leases, of rooms and others, without their ids.',
      query: { prefix, after, limit },
      answers: { 200: locksListed },
      async handle(call) {
        const { leases, ...page } = await store.list(listQuery(call))
        return { body: { locks: leases.map(observed), ...page } }
      },
    }),
    route({
      ...{ method: 'DELETE', path: '/api/locks/{resource}', id: 'forceRelease', action: 'admin' },
      summary: 'End a lease by force. That of a room is `document:` and the room.',
      answers: { 200: success, 404: errorBody },
      async handle(call) {
        if (await locks.forceRelease(call.resource, call.identity.publicId))
          return { body: { success: true } }
        throw new HttpError(404, 'lock_not_found', 'there is no lock, or it has expired')
      },
    }),
    route({
      ...{ method: 'GET', path: '/api/audit', id: 'readAudit', action: 'admin' },
      summary: 'Who locked, unlocked and took over what; the newest first.',
      query: { resource, before, limit },
      answers: { 200: auditPage },
      async handle(call) {
        const from = call.query('before', before)
        const { damaged = [], ...page } = await audit.read({
          limit: call.query('limit', limit) ?? 100,
          ...(from !== undefined && { before: from }),
          ...(call.resource !== '' && { resource: call.resource }),
        })
        tellOfDamaged(damaged)
        return { body: page }
      },
    }),
    route({
      ...{ method: 'GET', path: '/api/stats', id: 'readStats', action: 'observe' },
      summary: 'The last 15 minutes in buckets of ten seconds.',
      answers: { 200: stats },
      handle: () => ({ body: { ...figures.read(feed.live, line.size), channel_key: settings.channelKey } }),
    }),
  ]
}
