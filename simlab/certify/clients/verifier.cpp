// A verifier for `simlab certify --command ./verifier`: protocol version 1, contracts verify and chain_uniforms.
// g++ -O2 -std=c++17 verifier.cpp -o verifier. For little-endian machines. Put your own in place of `verify`.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>
using Words = std::vector<int64_t>;
int64_t draw(const std::vector<double>& weights, double coin) {
    double total = 0, upto = 0;
    for (double w : weights) total += w;
    for (size_t v = 0; v < weights.size(); ++v)
        if (coin * total < (upto += weights[v])) return v;
    return std::max_element(weights.begin(), weights.end()) - weights.begin();  // lost to rounding
}

// p[gamma + 1][V], q[gamma][V], drafts[gamma], gamma + 1 coins in [0, 1)
Words verify(const double* p, const double* q, const int64_t* drafts, const double* coins, size_t gamma, size_t V) {
    Words tokens;
    for (size_t i = 0; i < gamma; ++i, p += V, q += V) {
        if (coins[i] * q[drafts[i]] >= p[drafts[i]]) {  // rejected
            std::vector<double> left(p, p + V);
            for (size_t v = 0; v < V; ++v) left[v] = std::max(p[v] - q[v], 0.0);
            if (*std::max_element(left.begin(), left.end()) == 0) left.assign(p, p + V);
            tokens.push_back(draw(left, coins[gamma]));
            return tokens;
        }
        tokens.push_back(drafts[i]);
    }
    tokens.push_back(draw(std::vector<double>(p, p + V), coins[gamma]));
    return tokens;
}

int main() {
    std::string name, version, contract, seed;
    (std::cin >> name >> version >> contract >> seed).get();  // the end of the line
    bool given = contract == "chain_uniforms";
    if (name != "simlab-certify" || version != "1" || (contract != "verify" && !given)) return 1;
    std::mt19937_64 bits(std::stoull(seed));
    std::cout << name << " 1 " << contract << std::endl;
    for (int64_t length; std::cin.read((char*)&length, 8);) {
        Words words(length), answer(1);
        if (!std::cin.read((char*)words.data(), 8 * length)) return 1;
        size_t calls = words[0], gamma = words[3] - 1, V = words[4], place = given ? 13 : 10;
        for (size_t n = 0; n < calls; ++n) {  // behind the shapes (2: gamma + 1, V), (2: gamma, V), (1: gamma) ...
            const double* p = (const double*)&words[place];
            const double* q = p + (gamma + 1) * V;
            const int64_t* drafts = (const int64_t*)(q + gamma * V);
            std::vector<double> coins((const double*)(drafts + gamma), (const double*)(drafts + gamma) + given * (gamma + 1));
            while (coins.size() <= gamma) coins.push_back(double(bits() >> 11) / 9007199254740992.0);
            Words tokens = verify(p, q, drafts, coins.data(), gamma, V);
            answer.push_back(tokens.size());
            for (int64_t token : tokens) answer.push_back(token);
            place += (gamma + 1) * V + gamma * V + gamma + (given ? gamma + 1 : 0);
        }
        answer[0] = answer.size() - 1;
        std::cout.write((const char*)answer.data(), 8 * answer.size()).flush();
    }
}
