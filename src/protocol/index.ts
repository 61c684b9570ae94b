export {
  formatFrame,
  PUSHER_CLOSE,
  PUSHER_PROTOCOL,
  type PusherFrame,
  parseFrame,
  publicNameOf,
} from './pusher.ts'
