import { tortureServer } from '../processes/torture.ts'

tortureServer('nats', { supports: { queue: false } })
