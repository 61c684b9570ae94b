import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('firestore', {
  server: 'firestore',
  url: ({ address }) => `firestore://${address}`,
  ttl: 1500,
  // The emulator keeps everything in memory.
  forgetful: true,
})
