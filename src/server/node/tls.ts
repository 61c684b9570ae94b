import { readFileSync, statSync } from 'node:fs'
import type { Server as HttpsServer } from 'node:https'
import { createSecureContext } from 'node:tls'
import { systemClock } from '../../base/clock.ts'
import { LeaseError, messageOf } from '../../base/errors.ts'
import type { Settings } from '../../configuration/settings.ts'
import { CHECK_CERTIFICATE_EVERY_MS } from '../options.ts'

type TlsFiles = Pick<Settings, 'tlsCert' | 'tlsKey'>

/** The certificate and its key. Throws if they cannot be read, or do not belong together. */
export function readCertificate({ tlsCert, tlsKey }: TlsFiles) {
  try {
    const certificate = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) }
    createSecureContext(certificate)
    return certificate
  } catch (error) {
    throw new LeaseError('invalid-argument', `tlsCert and tlsKey: they cannot be used: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** Uses a renewed certificate for new connections. Returns a function that ends it. */
export function followCertificate(
  server: HttpsServer,
  files: TlsFiles,
  onError: (error: unknown) => void,
  clock = systemClock,
): () => void {
  let cancel = () => {}
  let used = changedAt(files)
  const check = () => {
    const changed = changedAt(files)
    if (changed !== used) {
      try {
        server.setSecureContext(readCertificate(files))
        used = changed
      } catch (error) {
        // Perhaps only one of the files has been written yet. The old certificate stays in use.
        onError(error)
      }
    }
    cancel = clock.setTimer(check, CHECK_CERTIFICATE_EVERY_MS, true)
  }
  cancel = clock.setTimer(check, CHECK_CERTIFICATE_EVERY_MS, true)
  return () => cancel()
}

function changedAt({ tlsCert, tlsKey }: TlsFiles): string {
  return [tlsCert, tlsKey].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs).join()
}
