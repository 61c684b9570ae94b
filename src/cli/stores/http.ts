import { httpStore } from '../../client/http-store.ts'
import type { LeaseError } from '../../core/index.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { type OpenedStore, optional, takeParameter } from './opened-store.ts'

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
    if (!error.message.includes('403')) throw error
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
