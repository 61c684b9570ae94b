import { defineConfig } from 'vite'
import { throughHoldfast } from '../holdfast-proxy.ts'

export default defineConfig({ root: import.meta.dirname, server: { port: 4331, proxy: throughHoldfast } })
