import { randomId } from '../base/random-id.ts'
import type { Settings } from '../configuration/settings.ts'
import type { Log } from './log.ts'

/** Creates missing secrets. Sessions and channels then work, but only on this node and until the process ends. */
export function withSecrets(settings: Settings, log: Log): Settings {
  const missing = (['cookieSecrets', 'channelSecret'] as const).filter((name) => settings[name].length === 0)
  if (missing.length === 0) return settings
  log(
    'warn',
    'secrets were created for this run, and sessions end with it: set secretsFile or these settings',
    {
      settings: missing,
    },
  )
  const { cookieSecrets, channelSecret } = settings
  return {
    ...settings,
    cookieSecrets: cookieSecrets.length > 0 ? cookieSecrets : [newSecret()],
    channelSecret: channelSecret || newSecret(),
  }
}

export function newSecret(): string {
  return `${randomId()}${randomId()}`
}
