import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import type { Settings } from '../configuration/settings.ts'
import type { Log } from './log.ts'

/** Where all nodes of a service keep the secrets that none of them was configured with. */
export interface SecretStore {
  /** Stores the secret, unless the name has one. Returns the stored one, which all nodes then use. */
  keep(name: string, secret: string): Promise<string>
  /** Rejects if secrets cannot be kept now. Changes nothing. */
  check?(): Promise<void>
}

const LEAST_LENGTH = 16

/**
 * Creates missing secrets. With a store the nodes agree on them and they outlive a restart. Without one, sessions and
 * channels work only on this node and until the process ends.
 */
export async function withSecrets(settings: Settings, log: Log, store?: SecretStore): Promise<Settings> {
  const missing = (['cookieSecrets', 'channelSecret'] as const).filter((name) => settings[name].length === 0)
  if (missing.length === 0) return settings
  if (!store)
    log(
      'warn',
      'secrets were created for this run, and sessions end with it: set secretsFile or these settings',
      { settings: missing },
    )
  const [cookieSecret, channelSecret] = await Promise.all([
    settings.cookieSecrets.length > 0 ? '' : keptSecret(store, 'cookie'),
    settings.channelSecret || keptSecret(store, 'channel'),
  ])
  return {
    ...settings,
    cookieSecrets: cookieSecret ? [cookieSecret] : settings.cookieSecrets,
    channelSecret,
  }
}

async function keptSecret(store: SecretStore | undefined, name: string): Promise<string> {
  const created = newSecret()
  const kept = store ? await store.keep(name, created) : created
  // Never shown, and never replaced: the other nodes use it.
  if (typeof kept !== 'string' || kept.length < LEAST_LENGTH)
    throw new LeaseError(
      'store-failed',
      `the ${name} secret that the nodes share is damaged; delete it, or set cookieSecrets and channelSecret`,
    )
  return kept
}

export function newSecret(): string {
  return `${randomId()}${randomId()}`
}
