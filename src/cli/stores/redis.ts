import { redisDatabase } from '../../clients/redis.ts'
import { deniedCommands, REDIS_COMMANDS, SERVED_PARTS } from '../../clients/redis-commands.ts'
import { isReply, redisError } from '../../clients/redis-errors.ts'
import { redisStore } from '../../stores/redis/index.ts'
import { type BackendWarning, type OpenedStore, optional } from './opened-store.ts'
import { connectRedis, parseRedisAddress } from './redis-clients.ts'

export async function openRedis(address: string): Promise<OpenedStore> {
  const { place, prefix } = parseRedisAddress(address)
  const { client, driver, info, close } = await connectRedis(place)
  const store = redisStore(client, optional('prefix', prefix))
  return {
    store,
    async backendInfo() {
      const answer = await info().catch((error: unknown) => {
        if (isReply(error, 'NOPERM')) return null
        throw redisError(error)
      })
      if (answer === null) return { version: `Redis through ${driver}`, warnings: [NO_INFO] }
      const fields = parseInfo(answer)
      return {
        version: `Redis ${fields.get('redis_version')} through ${driver}`,
        warnings: warningsIn(fields),
      }
    },
    async deniedCommands() {
      const run = redisDatabase(client).eval
      const denied = await deniedCommands(run, SERVED_PARTS, prefix ?? 'holdfast').catch((error: unknown) => {
        throw redisError(error)
      })
      const isOfLeases = (command: string) => REDIS_COMMANDS.leases.includes(command)
      return { leases: denied.filter(isOfLeases), serve: denied.filter((command) => !isOfLeases(command)) }
    },
    async jobs() {
      const { redisJobs } = await import('../../once/index.ts')
      return redisJobs(client, { prefix: `${prefix ?? 'holdfast'}:jobs` })
    },
    async serverParts() {
      const { redisShared } = await import('../../server/parts.ts')
      return redisShared(client, { prefix })
    },
    async close() {
      await store.close()
      close()
    },
  }
}

const NO_INFO: BackendWarning = {
  text: 'this user may not ask for INFO, so the version and the settings of the server are unknown',
  remedy: 'give it +info to have them checked; leases work without it',
}

function parseInfo(info: string): Map<string, string> {
  return new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string]))
}

function warningsIn(fields: ReadonlyMap<string, string>): BackendWarning[] {
  const warnings: BackendWarning[] = []
  const policy = fields.get('maxmemory_policy')
  if (policy && policy !== 'noeviction' && fields.get('maxmemory') !== '0')
    warnings.push({
      text: `the server may evict leases (maxmemory-policy ${policy})`,
      remedy: 'set maxmemory-policy noeviction',
    })
  if (fields.get('aof_enabled') === '0')
    warnings.push({
      text: 'the server forgets held leases when it crashes',
      remedy: 'set appendonly yes and appendfsync always, or check tokens at the resource',
    })
  return warnings
}
