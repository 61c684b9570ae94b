import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { type Settings, settingsOf } from '../../configuration/settings.ts'
import { LeaseError } from '../../core/index.ts'
import { newSecret } from '../secrets.ts'

type Secrets = Pick<Settings, 'cookieSecrets' | 'channelSecret'>

/** Fills in the secrets that were not given from the file of the settings, which its owner alone may read. */
export function withKeptSecrets(settings: Settings): Settings {
  const { secretsFile, cookieSecrets, channelSecret } = settings
  if (secretsFile === '' || (cookieSecrets.length > 0 && channelSecret !== '')) return settings
  const kept = keptSecrets(secretsFile)
  return {
    ...settings,
    cookieSecrets: cookieSecrets.length > 0 ? cookieSecrets : kept.cookieSecrets,
    channelSecret: channelSecret || kept.channelSecret,
  }
}

function keptSecrets(path: string): Secrets {
  const draft = `${path}.${process.pid}`
  const made = { cookieSecrets: [newSecret()], channelSecret: newSecret() }
  writeFileSync(draft, JSON.stringify(made), { mode: 0o600 })
  try {
    // Whole or not at all, and never over that of another.
    linkSync(draft, path)
    return made
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readSecrets(path)
    throw error
  } finally {
    unlinkSync(draft)
  }
}

function readSecrets(path: string): Secrets {
  try {
    const { cookieSecrets, channelSecret } = settingsOf(JSON.parse(readFileSync(path, 'utf8')))
    return { cookieSecrets, channelSecret }
  } catch {
    // Without a cause: an error of JSON would quote the file.
    throw new LeaseError('invalid-argument', `secretsFile: expected the secrets of a server in ${path}`)
  }
}
