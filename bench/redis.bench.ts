/** Leases on Redis beside a raw lock and the locks of other packages. */
import { benchContended } from './redis/contended.ts'
import { benchFrozen } from './redis/frozen.ts'
import { startBenchServer } from './redis/server.ts'
import { benchShared } from './redis/sharing.ts'
import { benchUncontended } from './redis/uncontended.ts'

export async function run(): Promise<void> {
  // A server of our own in any case: only such a one may be frozen.
  await using server = await startBenchServer()
  const { HOLDFAST_TEST_REDIS_URL: url = server.url } = process.env
  await benchUncontended(url)
  await benchContended(url)
  await benchShared(url)
  await benchFrozen(server)
}
