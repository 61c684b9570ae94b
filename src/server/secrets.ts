import { LeaseError } from '../base/errors.ts'
import { randomId } from '../base/random-id.ts'
import { MIN_SECRET_LENGTH } from '../configuration/options.ts'
import type { Settings } from '../configuration/settings.ts'
import type { Log } from './log.ts'

/** Where all nodes of a service keep the secrets that none of them was configured with. */
export interface SecretStore {
  /** Stores the secret, unless the name has one. Returns the stored one, which all nodes then use. */
  keep(name: string, secret: string): Promise<string>
  /** Rejects if secrets cannot be kept now. Changes nothing. */
  check?(): Promise<void>
}

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

/**
 * Puts back what the store has lost, such as a Redis that restarted empty: otherwise the next node that starts creates
 * other secrets, and sessions end there. `given`: the settings before `withSecrets`.
 */
export async function restoreSecrets(given: Settings, used: Settings, store: SecretStore): Promise<void> {
  const { cookieSecrets, channelSecret } = used
  const kept: Readonly<Record<string, string>> = {
    ...(given.cookieSecrets.length === 0 && { cookie: cookieSecrets[0] ?? '' }),
    ...(given.channelSecret === '' && { channel: channelSecret }),
  }
  for (const [name, secret] of Object.entries(kept))
    if ((await store.keep(name, secret)) !== secret)
      throw new LeaseError(
        'store-failed',
        `the store has another ${name} secret than this node, so sessions of other nodes are refused here; ` +
          'restart this node',
      )
}

async function keptSecret(store: SecretStore | undefined, name: string): Promise<string> {
  const created = newSecret()
  const kept = store ? await store.keep(name, created) : created
  // Never shown, and never replaced: the other nodes use it.
  if (typeof kept !== 'string' || kept.length < MIN_SECRET_LENGTH)
    throw new LeaseError(
      'store-failed',
      `the ${name} secret that the nodes share is damaged; delete it, or set cookieSecrets and channelSecret`,
    )
  return kept
}

export function newSecret(): string {
  return `${randomId()}${randomId()}`
}
