import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ServerKind } from './server.ts'
import { executable } from './tools.ts'

/** Google's own emulator. It keeps its data in memory and loses them in a restart. */
export const firestore: ServerKind = {
  name: 'firestore',
  variable: 'FIRESTORE_EMULATOR_HOST',
  packages: ['google-cloud-cli-firestore-emulator', 'default-jre-headless'],
  advice:
    'install Java and the Google Cloud CLI with its component cloud-firestore-emulator, ' +
    'or set FIRESTORE_EMULATOR_HOST to the address of a running emulator.',

  async find() {
    const gcloud = executable('gcloud')
    const java = executable('java')
    if (!gcloud || !java) return undefined
    const sdk = dirname(dirname(await realpath(gcloud)))
    const jar = join(sdk, 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar')
    if (!existsSync(jar)) return undefined
    return {
      program: jar,
      version: await componentVersion(sdk),
      async command(directory, port) {
        // The command that `gcloud emulators firestore start` ends up with. `gcloud` itself starts slowly, and when
        // it is killed, its JVM keeps running. The flags of the JVM shorten its start.
        const jvm = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData']
        const main = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore'
        const args = [...jvm, `-Djava.io.tmpdir=${directory}`, '-Duser.language=en', '-cp', jar, main]
        return {
          file: java,
          args: [...args, 'start', '--host=127.0.0.1', `--port=${port}`, '--database-mode=firestore-native'],
          crashSignal: 'SIGKILL',
        }
      },
    }
  },

  address: (port) => `127.0.0.1:${port}`,

  async version(address) {
    const response = await fetch(`http://${address}/`)
    if ((await response.text()).trim() !== 'Ok')
      throw new Error(`expected a Firestore emulator at ${address}, got another answer`)
    return 'emulator'
  },
}

async function componentVersion(sdk: string): Promise<string> {
  try {
    const snapshot = await readFile(join(sdk, '.install/cloud-firestore-emulator.snapshot.json'), 'utf8')
    return `emulator ${JSON.parse(snapshot).components[0].version.version_string}`
  } catch {
    return 'emulator'
  }
}
