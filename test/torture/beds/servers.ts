/**
 * Stores on one server. The variants with jumps have a server whose wall clock jumps. Redis has none: its allocator,
 * jemalloc, reads the clock before libfaketime is ready, and Redis does not start.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Server, type ServerName, startServer } from '../../../scripts/services/index.ts'
import { FakeTime, findFakeTime } from '../fake-time.ts'
import type { Bed } from './bed.ts'

type AddressOf = (links: readonly string[]) => string

export const openRedis = () => onServer('redis', ([link]) => `redis://${link}`)
export const openPostgres = () => onServer('postgres', ([link]) => `postgres://postgres@${link}/postgres`)
export const openMysql = () => onServer('mysql', ([link]) => `mysql://root@${link}/test`)
/** The emulator keeps everything in memory, so it does not crash. Its transactions are slow. */
export const openFirestore = async () => ({
  ...(await onServer('firestore', ([link]) => `firestore://${link}`)),
  ttl: 2000,
  mayCrash: 0,
})

export const openPostgresWithJumps = () =>
  onJumpingServer('postgres', ([link]) => `postgres://postgres@${link}/postgres`)
export const openMysqlWithJumps = () => onJumpingServer('mysql', ([link]) => `mysql://root@${link}/test`)

async function onServer(name: ServerName, address: AddressOf): Promise<Bed> {
  return bedOf(await startServer(name), address)
}

async function onJumpingServer(name: ServerName, address: AddressOf): Promise<Bed> {
  const found = await findFakeTime()
  if ('why' in found) throw new Error(found.why)
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-clock-'))
  const time = await FakeTime.create(found.path, join(directory, 'clock'))
  const server = await startServer(name, time.env)
  const bed = bedOf(server, address)
  return {
    ...bed,
    jump: (seconds) => time.jumpTo(seconds),
    async [Symbol.asyncDispose]() {
      await bed[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

function bedOf(server: Server, address: AddressOf): Bed {
  return {
    ttl: 1000,
    nodes: [server],
    mayCrash: 1,
    address,
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
