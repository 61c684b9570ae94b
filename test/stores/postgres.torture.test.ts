import { tortureServer } from '../processes/torture.ts'

tortureServer('postgres', {})
