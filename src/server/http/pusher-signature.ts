import { md5 } from '@noble/hashes/legacy.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Clock } from '../../base/clock.ts'
import type { Settings } from '../../configuration/settings.ts'
import { SIGNATURE_WINDOW_S } from '../options.ts'
import { Signer } from '../signer.ts'
import { HttpError } from './http-error.ts'

export interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly body: string
}

/**
 * Verifies requests to the HTTP API of the Pusher protocol. The signature covers the method, the path, all parameters
 * and a hash of the body. Like Pusher's own, a request can be repeated within the time window by anybody who reads it, so
 * send it over HTTPS.
 */
export class PusherSignatures {
  readonly #key: string
  readonly #signer: Signer
  readonly #clock: Clock

  constructor({ channelKey, channelSecret }: Pick<Settings, 'channelKey' | 'channelSecret'>, clock: Clock) {
    this.#key = channelKey
    this.#signer = new Signer(channelSecret)
    this.#clock = clock
  }

  async check({ method, url, body }: SignedRequest): Promise<void> {
    const { pathname, searchParams } = new URL(url)
    const {
      auth_key,
      auth_timestamp = '',
      auth_version,
      auth_signature = '',
      body_md5,
    } = fieldsOf(searchParams)
    if (auth_key !== this.#key) throw refusal('auth_key: expected the channelKey of this server')
    if (auth_version !== '1.0') throw refusal('auth_version: expected 1.0')
    const age = Math.abs(this.#clock.now() / 1000 - Number(auth_timestamp))
    if (!/^\d{1,12}$/.test(auth_timestamp) || age > SIGNATURE_WINDOW_S)
      throw refusal(
        `auth_timestamp: expected the seconds since 1970, at most ${SIGNATURE_WINDOW_S} s from the server's clock`,
      )
    if (body !== '' && body_md5 !== bytesToHex(md5(utf8ToBytes(body))))
      throw refusal('body_md5: expected the MD5 hash of the body')
    const parameters = [...searchParams]
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => name !== 'auth_signature')
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `${name}=${value}`)
    for (const path of signedPaths(pathname))
      if (await this.#signer.verify([method, path, parameters.join('&')].join('\n'), auth_signature)) return
    throw refusal('auth_signature: it is not that of this request with the channelSecret of this server')
  }
}

/** Some clients sign the path as they send it, others before it is percent-encoded. */
function signedPaths(pathname: string): Set<string> {
  try {
    return new Set([pathname, decodeURI(pathname)])
  } catch {
    return new Set([pathname])
  }
}

/** A parameter that occurs twice could be signed with one value and read with the other. */
function fieldsOf(parameters: URLSearchParams): Readonly<Record<string, string | undefined>> {
  const names = [...parameters.keys()].map((name) => name.toLowerCase())
  if (new Set(names).size < names.length) throw refusal('expected each parameter once')
  return Object.fromEntries(parameters)
}

function refusal(message: string): HttpError {
  return new HttpError(401, 'invalid_signature', message)
}
