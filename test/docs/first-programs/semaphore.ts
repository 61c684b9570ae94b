import { setTimeout } from 'node:timers/promises'
import { createLeases } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'

const redis = new Redis('redis://localhost:6379')
const leases = createLeases(redisStore(redis))

let running = 0
let most = 0
async function call(n: number) {
  return leases.withLease(
    'api',
    async () => {
      running++
      most = Math.max(most, running)
      await setTimeout(20)
      running--
      return n * n
    },
    { share: 3, wait: '1m' },
  )
}
const squares = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(call))
console.log(squares.join(' '))
console.log(`at most ${most}`)
const holders = await leases.holders('api')
console.log(`${holders.length} holders`)
await leases.close()
await redis.quit()
