import { tortureServer } from '../processes/torture.ts'

// The emulator keeps everything in memory.
tortureServer('firestore', { supports: { queue: false }, ttl: 1500 }, { forgets: true })
