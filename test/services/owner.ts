/** Starts a process in the care of a keeper, tells of it, and waits to be killed. */
import { KeptProcess } from '../../scripts/services/kept-process.ts'

const kept = await KeptProcess.prepare('owner')
const pid = await kept.start({ file: 'sleep', args: ['600'], crashSignal: 'SIGTERM' })
process.send?.({ pid, directory: kept.directory })
