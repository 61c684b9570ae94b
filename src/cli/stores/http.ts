import { httpStore } from '../../client/http-store.ts'
import type { LeaseError } from '../../core/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { type OpenedStore, optional, takeParameter } from './opened-store.ts'

const ANSWER_LIMIT_MS = 5000

export async function openHttp(url: URL): Promise<OpenedStore> {
  const key = takeParameter(url, 'key')
  const { username, password } = url
  const token = decodeURIComponent(password || username)
  // Requests may not have it in their address.
  Object.assign(url, { username: '', password: '' })
  const store = httpStore(url, { ...optional('token', token || undefined), ...optional('key', key) })
  // A server that is not there, or does not know us, is told now: later the store counts on it to come back.
  await store.read(['-']).catch(async (error: LeaseError) => {
    await store.close()
    if (error.code !== 'store-failed' || !(await isForbidden(url, token))) throw error
    throw new Failure(
      EXIT.failed,
      `${url.origin} wants a token; name one of its lease-tokens, as in ${url.protocol}//TOKEN@${url.host}`,
      { cause: error },
    )
  })
  return {
    store,
    examine: async () => ({ version: `a Holdfast server at ${url.origin}`, concerns: [] }),
    close: () => store.close(),
  }
}

/** Asked of the server again, since the error of the store is for people. */
async function isForbidden(url: URL, token: string): Promise<boolean> {
  try {
    const answer = await fetch(new URL('api/leases?limit=1', url.href.replace(/\/?$/, '/')), {
      headers: token ? { Authorization: `Bearer ${token}` } : {},
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    })
    return answer.status === 403 && Object(await answer.json()).error === 'forbidden'
  } catch {
    return false
  }
}
