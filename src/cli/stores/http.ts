import type { LeaseError } from '../../base/errors.ts'
import { httpStore } from '../../client/http-store.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { type OpenedStore, optional, takeParameter } from './opened-store.ts'

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
    if (!isForbidden(error)) throw error
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

/** The cause of the error is the body of the answer. */
function isForbidden({ code, cause }: LeaseError): boolean {
  return code === 'store-failed' && (Object(cause) as { readonly error?: unknown }).error === 'forbidden'
}
