import type { LeaseError } from '../../base/errors.ts'
import { httpStore } from '../../client/http-store.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { CONNECT_LIMIT_MS, type OpenedStore, optional, takeParameter } from './opened-store.ts'

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
    if (error.code !== 'store-failed' || !(await isForbidden(url, token))) throw error
    throw new Failure(
      EXIT.failed,
      `${url.origin} requires a token; give one of its lease-tokens, as in ${url.protocol}//TOKEN@${url.host}`,
      { cause: error },
    )
  })
  return {
    store,
    backendInfo: async () => ({ version: `a Holdfast server at ${url.origin}`, warnings: [] }),
    close: () => store.close(),
  }
}

/** Sends one more request, because the error of the store has the reason only as text. */
async function isForbidden(url: URL, token: string): Promise<boolean> {
  try {
    const answer = await fetch(new URL('api/leases?limit=1', url.href.replace(/\/?$/, '/')), {
      headers: token ? { Authorization: `Bearer ${token}` } : {},
      signal: AbortSignal.timeout(CONNECT_LIMIT_MS),
    })
    return answer.status === 403 && Object(await answer.json()).error === 'forbidden'
  } catch {
    return false
  }
}
