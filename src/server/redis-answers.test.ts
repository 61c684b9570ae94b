import { expect, it } from 'vitest'
import { redisAudit, redisDocuments, redisSecrets } from './redis.ts'

/** A client of `redis` that answers with nothing. */
const silent = Object.fromEntries(
  ['eval', 'evalSha', 'duplicate', 'subscribe', 'connect', 'unref'].map((name) => [name, async () => null]),
) as never
const UNAVAILABLE = { code: 'store-unavailable', message: expect.stringContaining('empty or malformed') }

it('a secret that Redis does not answer is not taken for one', async () => {
  await expect(redisSecrets(silent).keep('session', 'secret')).rejects.toMatchObject(UNAVAILABLE)
})

it('contents and entries that Redis does not answer are not taken for none', async () => {
  const documents = redisDocuments(silent)
  await expect(documents.read('room')).rejects.toMatchObject(UNAVAILABLE)
  await expect(documents.save('room', { token: 1, holder: 'Mika' }, 'text')).rejects.toMatchObject(
    UNAVAILABLE,
  )
  await expect(redisAudit(silent).read({ limit: 1 })).rejects.toMatchObject(UNAVAILABLE)
})
