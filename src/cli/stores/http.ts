import type { LeaseError } from '../../base/errors.ts'
import { httpStore } from '../../client/http-store.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { type OpenedStore, optional, takeParameter } from './opened-store.ts'

/** By the `error` in the body of the answer, which is the cause of the error. */
const PROBLEMS: Readonly<Record<string, string>> = {
  unauthenticated: 'does not know this token',
  forbidden: 'requires a token',
}

export async function openHttp(url: URL): Promise<OpenedStore> {
  const key = takeParameter(url, 'key')
  const token = decodeURIComponent(url.password || url.username)
  // `fetch` refuses a URL that contains them.
  url.username = ''
  url.password = ''
  const store = httpStore(url, { ...optional('token', token || undefined), ...optional('key', key) })
  // Fails now if the server cannot be reached or refuses us. Later calls of the store retry instead.
  await store.read(['-']).catch(async (error: LeaseError) => {
    await store.close()
    const problem = PROBLEMS[String(Object(error.cause).error)]
    if (error.code !== 'store-failed' || !problem) throw error
    const remedy = `give one of its leaseTokens, as in ${url.protocol}//TOKEN@${url.host}`
    throw new Failure(EXIT.failed, `${url.origin} ${problem}; ${remedy}`, { cause: error })
  })
  return {
    store,
    backendInfo: async () => ({ version: `a Holdfast server at ${url.origin}`, warnings: [] }),
    close: () => store.close(),
  }
}
