import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { LeaseError, messageOf } from '../../base/errors.ts'
import { type Settings, settingsOf } from '../../configuration/settings.ts'
import { newSecret } from '../secrets.ts'

type Secrets = Pick<Settings, 'cookieSecrets' | 'channelSecret'>

/** Takes missing secrets from `secretsFile`. The file is created if it is missing, and only its owner may read it. */
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
  const created = { cookieSecrets: [newSecret()], channelSecret: newSecret() }
  try {
    writeFileSync(draft, JSON.stringify(created), { mode: 0o600 })
    // Atomic, and it never replaces the file of another process.
    linkSync(draft, path)
    return created
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readSecrets(path)
    const message = `secretsFile: ${path} cannot be created: ${messageOf(error)}`
    throw new LeaseError('invalid-argument', message, { cause: error })
  } finally {
    rmSync(draft, { force: true })
  }
}

function readSecrets(path: string): Secrets {
  try {
    const { cookieSecrets, channelSecret } = settingsOf(JSON.parse(readFileSync(path, 'utf8')))
    return { cookieSecrets, channelSecret }
  } catch {
    // Without a cause, because an error of JSON.parse quotes the file.
    throw new LeaseError('invalid-argument', `secretsFile: expected the secrets of a server in ${path}`)
  }
}
