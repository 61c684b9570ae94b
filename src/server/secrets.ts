import type { Settings } from '../configuration/settings.ts'
import type { Log } from './log.ts'

/** Without secrets of yours sessions and channels work, but end with this process, and on this node alone. */
export function withSecrets(settings: Settings, log: Log): Settings {
  const missing = (['cookieSecrets', 'channelSecret'] as const).filter((name) => settings[name].length === 0)
  if (missing.length === 0) return settings
  log(
    'warn',
    'secrets made for this run: sessions end with it, unless secretsFile or these settings are given',
    { settings: missing },
  )
  const { cookieSecrets, channelSecret } = settings
  return {
    ...settings,
    cookieSecrets: cookieSecrets.length > 0 ? cookieSecrets : [newSecret()],
    channelSecret: channelSecret || newSecret(),
  }
}

export function newSecret(): string {
  return `${crypto.randomUUID()}${crypto.randomUUID()}`
}
