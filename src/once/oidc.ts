import { expectFunction, expectOptions, expectText } from '../base/arguments.ts'
import type { OidcOptions } from './options.ts'

/** The fields of a verified token that are compared. */
export interface OidcClaims {
  readonly aud?: string | readonly string[] | undefined
  readonly email?: string | undefined
  readonly email_verified?: boolean | undefined
}

/**
 * An `authorize` for task handlers that lets only the queue's own service account start work. Cloud Tasks, Pub/Sub and
 * Cloud Scheduler send an OIDC token as `Authorization: Bearer …`.
 *
 * @example
 * const client = new OAuth2Client()
 * const authorize = oidcAuthorize({
 *   verify: async (idToken) => (await client.verifyIdToken({ idToken, audience })).getPayload(),
 *   audience,
 *   email: 'queue@project.iam.gserviceaccount.com',
 * })
 */
export function oidcAuthorize(options: OidcOptions): (request: Request) => Promise<boolean> {
  expectOptions(options, { verify: 1, audience: 1, email: 1 })
  const { verify, audience, email } = options
  expectFunction('verify', verify)
  expectText('audience', audience)
  expectText('email', email)
  return async (request) => {
    const [, token] = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.get('Authorization') ?? '') ?? []
    if (token === undefined) return false
    const claims = await Promise.resolve(token)
      .then(verify)
      .catch(() => null)
    const audiences = [claims?.aud ?? []].flat()
    return claims?.email === email && claims.email_verified === true && audiences.includes(audience)
  }
}
